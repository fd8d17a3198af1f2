"""`meshlens check`: what it finds, how it says it, and with which exit code it ends."""

from __future__ import annotations

import json
import os
import textwrap

import pytest

from command_line import CELL, CLEAN, FIXED, TYPO, meshlens, start, write
from meshlens.caches.folder import cache_of

MESSAGE = 'axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?'


def test_a_clean_project(tmp_path):
    ran = meshlens("check", cwd=write(tmp_path, {"a.py": CLEAN, "b.py": FIXED}))
    assert (ran.code, ran.out, ran.err) == (0, "Nothing to report in 2 files.\n", "")


def test_an_empty_folder(tmp_path):
    ran = meshlens("check", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, "There was nothing to check.\n", "")


def test_a_configuration_that_is_cut_off(tmp_path):
    ran = meshlens("check", cwd=write(tmp_path, {"a.py": TYPO, "pyproject.toml": '[tool.meshlens]\nignore = ["AX1'}))
    assert (ran.code, ran.out) == (2, "Nothing was checked.\n")
    assert ran.err.startswith("meshlens: pyproject.toml: ")


def test_a_finding_in_one_line(tmp_path):
    ran = meshlens("check", "--output-format", "concise", cwd=write(tmp_path, {"pkg/a.py": TYPO}))
    assert ran.code == 1
    assert ran.out.splitlines()[0] == f"{os.path.join('pkg', 'a.py')}:7:29: AX101 [*] {MESSAGE}"
    assert ran.out.splitlines()[1] == "Found 1 error. 1 fixable with --fix."
    assert ran.err == ""


def test_exit_zero(tmp_path):
    ran = meshlens("check", "--exit-zero", cwd=write(tmp_path, {"a.py": TYPO}))
    assert ran.code == 0
    assert "AX101" in ran.out


def test_files_and_folders_are_each_checked_once(tmp_path):
    write(tmp_path, {"a.py": TYPO, "pkg/b.py": TYPO})
    ran = meshlens("check", "a.py", "pkg", "pkg/b.py", ".", "--output-format", "json", cwd=tmp_path)
    assert len(json.loads(ran.out)) == 2


def test_a_helper_in_another_file(tmp_path):
    files = {
        "sync.py": 'import jax\n\n\ndef average(x):\n    return jax.lax.pmean(x, "bacth")\n',
        "train.py": "import jax\nfrom sync import average\n\n"
        'step = jax.pmap(lambda x: average(x), axis_name="batch")\nprint(step(1))\n',
    }
    ran = meshlens("check", "--output-format", "concise", cwd=write(tmp_path, files))
    assert ran.out.startswith("sync.py:5:29: AX101")


SYNC = 'import jax\n\n\ndef average(x):\n    return jax.lax.pmean(x, "bacth")\n'
TRAIN = (
    'import jax\nfrom sync import average\n\nstep = jax.pmap(lambda x: average(x), axis_name="batch")\nprint(step(1))\n'
)


def test_a_named_file_is_judged_with_the_files_that_import_it(tmp_path):
    write(tmp_path, {"sync.py": SYNC, "train.py": TRAIN})
    ran = meshlens("check", "--output-format", "concise", "sync.py", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("sync.py:5:29: AX101")


def test_and_with_those_that_import_them_but_only_it_is_reported(tmp_path):
    middle = "from sync import average\n\n\ndef twice(x):\n    return 2 * average(x)\n"
    train = TRAIN.replace("from sync import average", "from middle import twice").replace("average", "twice")
    write(tmp_path, {"sync.py": SYNC, "middle.py": middle, "train.py": train + TYPO})
    ran = meshlens("check", "--output-format", "concise", "sync.py", cwd=tmp_path)
    assert [line.split(":")[0] for line in ran.out.splitlines()[:-1]] == ["sync.py"]


def test_a_named_folder_is_judged_with_the_files_that_import_it(tmp_path):
    train = TRAIN.replace("from sync", "from pkg.sync")
    write(tmp_path, {"pkg/sync.py": SYNC, "train.py": train})
    assert meshlens("check", "pkg", cwd=tmp_path).code == 1


def test_a_text_on_stdin_is_judged_with_the_files_that_import_it(tmp_path):
    write(tmp_path, {"sync.py": SYNC.replace("bacth", "batch"), "train.py": TRAIN})
    assert meshlens("check", "--stdin-filename", "sync.py", "-", cwd=tmp_path, stdin=SYNC.encode()).code == 1


def test_a_file_that_is_left_out_does_not_count_as_an_importer(tmp_path):
    write(tmp_path, {"sync.py": SYNC, "train.py": TRAIN})
    assert meshlens("check", "--exclude", "train.py", "sync.py", cwd=tmp_path).code == 0


def test_a_new_importer_is_noticed_although_the_result_is_kept(tmp_path):
    write(tmp_path, {"pyproject.toml": "", "sync.py": SYNC, "train.py": "import jax\n"})
    assert meshlens("check", "sync.py", cwd=tmp_path).code == 0
    assert meshlens("check", "sync.py", cwd=tmp_path).code == 0
    write(tmp_path, {"train.py": TRAIN})
    assert meshlens("check", "sync.py", cwd=tmp_path).code == 1
    (tmp_path / "train.py").unlink()
    assert meshlens("check", "sync.py", cwd=tmp_path).code == 0


def test_more_importers_than_are_read_are_mentioned(tmp_path):
    write(tmp_path, {"sync.py": SYNC, "train.py": TRAIN + "# much more\n" * 100_000})
    ran = meshlens("check", "sync.py", cwd=tmp_path)
    assert ran.code == 0
    assert ran.err == (
        "meshlens: .: some files that import the checked ones were not read; check the whole project to include them\n"
    )


def test_selecting_rules(tmp_path):
    write(tmp_path, {"a.py": TYPO})
    assert meshlens("check", "--select", "AX1", cwd=tmp_path).code == 1
    assert meshlens("check", "--select", "unbound-axis,AX102", cwd=tmp_path).code == 1
    assert meshlens("check", "--select", "ALL", cwd=tmp_path).code == 1
    assert meshlens("check", "--select", "AX102", cwd=tmp_path).code == 0
    assert meshlens("check", "--ignore", "AX101", cwd=tmp_path).code == 0
    assert meshlens("check", "--ignore", "AX1", cwd=tmp_path).code == 0
    assert meshlens("check", "--select", "AX101", "--ignore", "AX1", cwd=tmp_path).code == 1
    assert meshlens("check", "--select", "AX102", "--extend-select", "AX101", cwd=tmp_path).code == 1


def test_the_command_line_outranks_the_configuration(tmp_path):
    write(tmp_path, {"a.py": TYPO, "meshlens.toml": 'ignore = ["AX101"]\n'})
    assert meshlens("check", cwd=tmp_path).code == 0
    assert meshlens("check", "--select", "AX101", cwd=tmp_path).code == 1
    assert "AX101" not in meshlens("check", "--select", "AX1", cwd=tmp_path).out


def test_excluding(tmp_path):
    write(tmp_path, {"gen/a.py": TYPO, "b.py": CLEAN})
    assert meshlens("check", cwd=tmp_path).code == 1
    assert meshlens("check", "--exclude", "gen", cwd=tmp_path).code == 0
    assert meshlens("check", "--exclude", "nothing,*/a.py", cwd=tmp_path).code == 0
    assert meshlens("check", "gen/a.py", "--exclude", "gen", cwd=tmp_path).code == 1


def test_statistics(tmp_path):
    write(tmp_path, {"a.py": TYPO, "b.py": TYPO})
    ran = meshlens("check", "--statistics", cwd=tmp_path)
    assert ran.out == "2  AX101 [*] unbound-axis\nFound 2 errors. 2 fixable with --fix.\n"
    ran = meshlens("check", "--statistics", "--output-format", "json", cwd=tmp_path)
    assert json.loads(ran.out) == [{"code": "AX101", "name": "unbound-axis", "count": 2, "fixable": True}]


def test_stdin(tmp_path):
    ran = meshlens("check", "-", "--output-format", "concise", cwd=tmp_path, stdin=TYPO.encode())
    assert (ran.code, ran.out.split(":")[0]) == (1, "stdin.py")


def test_stdin_with_a_name_takes_the_configuration_that_holds_there(tmp_path):
    write(tmp_path, {"quiet/meshlens.toml": 'ignore = ["AX101"]\n'})
    assert meshlens("check", "--stdin-filename", "quiet/a.py", cwd=tmp_path, stdin=TYPO.encode()).code == 0
    assert meshlens("check", "--stdin-filename", "a.py", "-", cwd=tmp_path, stdin=TYPO.encode()).code == 1


def test_a_notebook(tmp_path):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# title"]},
        {**CELL, "source": ["%matplotlib inline\n", "import jax"]},
        {**CELL, "source": 'f = jax.pmap(lambda x: jax.lax.psum(x, "j"), axis_name="i")\nf(1)'},
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    write(tmp_path, {"a.ipynb": notebook})
    ran = meshlens("check", "--select", "AX101", "--output-format", "concise", cwd=tmp_path)
    assert ran.out.startswith("a.ipynb:cell 3:1:40: AX101")
    found = json.loads(meshlens("check", "--select", "AX101", "--output-format", "json", cwd=tmp_path).out)
    assert [(one["cell"], one["location"]) for one in found] == [(3, {"row": 1, "column": 40})]
    assert found[0]["fix"]["edits"][0]["cell"] == 3
    full = meshlens("check", cwd=tmp_path).out
    assert '1 │ f = jax.pmap(lambda x: jax.lax.psum(x, "j"), axis_name="i")' in full


def test_warm_runs_say_the_same(tmp_path):
    write(tmp_path, {"a.py": TYPO, "b.py": CLEAN, "pyproject.toml": ""})
    for path in tmp_path.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    cold = meshlens("check", cwd=tmp_path)
    assert [path.name.split("-")[0] for path in _kept(tmp_path)] == ["facts", "results"]
    assert meshlens("check", cwd=tmp_path) == cold
    write(tmp_path, {"a.py": FIXED})
    assert meshlens("check", cwd=tmp_path).code == 0
    write(tmp_path, {"a.py": TYPO})
    assert meshlens("check", cwd=tmp_path) == cold


def test_no_cache(tmp_path):
    write(tmp_path, {"a.py": TYPO, "pyproject.toml": ""})
    meshlens("check", "--no-cache", cwd=tmp_path)
    assert _kept(tmp_path) == []


def test_another_cache_folder(tmp_path, monkeypatch):
    root = write(tmp_path / "project", {"a.py": TYPO, "pyproject.toml": ""})
    for path in root.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    cold = meshlens("check", "--cache-dir", "../given", cwd=root)
    assert _kept(root) == []
    assert {"CACHEDIR.TAG", "key"} < {path.name for path in (tmp_path / "given").iterdir()}
    monkeypatch.setenv("MESHLENS_CACHE_DIR", str(tmp_path / "given"))
    assert [path.name.split("-")[0] for path in _kept(root)] == ["facts", "results"]
    assert meshlens("check", cwd=root) == cold


def test_a_cache_folder_in_the_project_is_refused(tmp_path):
    write(tmp_path, {"a.py": TYPO, "pyproject.toml": ""})
    ran = meshlens("check", "--cache-dir", "cache", cwd=tmp_path)
    assert (ran.code, [path.name for path in sorted(tmp_path.iterdir())]) == (1, ["a.py", "pyproject.toml"])


def _kept(project):
    """Returns the cache files of a project."""
    cache = cache_of(project)
    assert cache is not None
    return sorted(cache.folder.iterdir()) if cache.folder.exists() else []


def test_colours_only_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    write(tmp_path, {"a.py": TYPO})
    assert "\x1b[" not in meshlens("check", cwd=tmp_path).out
    assert "\x1b[" in meshlens("check", cwd=tmp_path, terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in meshlens("check", cwd=tmp_path, terminal=True).out


def test_as_a_module(tmp_path):
    run = start("check", "--output-format", "concise", cwd=write(tmp_path, {"a.py": TYPO}))
    out, err = run.communicate()
    assert (run.returncode, err) == (1, b"")
    assert MESSAGE in out.decode()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no pipes like these")
def test_a_reader_that_has_had_enough(tmp_path):
    run = start("check", "--no-cache", cwd=write(tmp_path, {f"a{number}.py": TYPO for number in range(200)}))
    assert run.stdout is not None
    run.stdout.readline()
    run.stdout.close()
    assert run.stderr is not None
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait() == 1


@pytest.mark.parametrize(("devices", "there_are"), [("v4-8", 4), ("1x2", 2)])
def test_any_topology_on_the_command_line(tmp_path, devices, there_are):
    write(tmp_path, {"main.py": 'import jax\n\nmesh = jax.make_mesh((4, 2), ("data", "model"))\n'})
    ran = meshlens("check", "--devices", devices, "--output-format", "concise", cwd=tmp_path)
    assert f"this mesh needs 8 devices, but target {devices} has {there_are} devices" in ran.out
    assert meshlens("check", "--devices", "8xH100", cwd=tmp_path).code == 0


_NESTED = """\
import functools
import jax


def main(a):
{before}
    def helper(model, name):
        aa, bb, cc, dd, ee, ff, gg = model.a, model.b, model.c, model.d, model.e, model.f, model.g

        @functools.partial(jax.jit, backend="cpu")
        def inner(rng):
            return model.init(rng, aa, bb, cc, dd, ee, ff, gg)

        return inner

    return helper(a, "x")
"""

_CACHED = """\
import functools
import jax
import jax.numpy as jnp


@functools.cache
def get(params):
    def reconstruct(x):
        return jnp.sum(params * x)

    with open("m") as f:
        params = f.read()
    return jax.jit(reconstruct, backend="cpu")
"""


@pytest.mark.parametrize(
    "text",
    [_CACHED, _NESTED.format(before=""), _NESTED.format(before="    x = 1\n" * 70)],
    ids=["wrapped", "nested", "nested in a long function"],
)
def test_other_files_do_not_decide_what_is_found_in_a_file(tmp_path, text):
    # The names in the other file are the same as in the first, and bind an axis there.
    write(tmp_path, {"a.py": text, "b.py": "import jax\n\nf = helper = main = jax.pmap(lambda x: x)\n"})
    alone = meshlens("check", "a.py", "--output-format", "json", cwd=tmp_path)
    both = meshlens("check", "a.py", "b.py", "--output-format", "json", cwd=tmp_path)
    assert json.loads(alone.out) == json.loads(both.out)
    assert [found["code"] for found in json.loads(alone.out)] == ["AX502"]


def test_a_mesh_of_the_wrong_shape_names_the_call_that_makes_it_so(tmp_path):
    function = "import jax\n\n\ndef grid(shape, names):\n    return jax.make_mesh(shape, names)\n\n\n"
    write(tmp_path, {"a.py": function + 'grid((4, 2), ("data",))\n'})
    (found,) = json.loads(meshlens("check", "--output-format", "json", cwd=tmp_path).out)
    assert [one["message"] for one in found["related"]] == ["grid is called here", "2 dimensions here"]


_MESH = """\
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
"""


@pytest.mark.parametrize(
    ("text", "row", "message", "line"),
    [
        (
            'AXES = {"rows": "data", "columns": "tensor"}\n'
            'sharding = NamedSharding(mesh, P(*(AXES[name] for name in ("rows", "columns"))))\n',
            6,
            "the spec that uses it",
            7,
        ),
        (
            'SPECS = {"kernel": P("data", "model"), "bias": P("data", "model")}\n\n\n'
            "def sharding(name):\n    return NamedSharding(mesh, SPECS[name])\n\n\n"
            'jax.device_put(jnp.ones(8), sharding("bias"))\n',
            13,
            "the spec is written here",
            6,
        ),
    ],
)
def test_what_a_table_gives_is_shown_in_the_table(tmp_path, text, row, message, line):
    write(tmp_path, {"a.py": _MESH + text})
    (found,) = json.loads(meshlens("check", "--output-format", "json", cwd=tmp_path).out)
    first = found["related"][0]
    assert found["location"]["row"] == row
    assert (first["message"], first["location"]["row"]) == (message, line)


def test_what_runs_with_specs_that_do_not_fit_its_call_is_not_judged(tmp_path):
    text = """
        import jax
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((8,), ("data",))


        def step(params, momentum, batch):
            total = jax.lax.psum((batch @ params).sum(), "data")
            return params - total, 0.9 * momentum + total


        train = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()))
        train(jax.numpy.ones(4), jax.numpy.zeros(8), jax.numpy.ones((16, 4)))
    """
    write(tmp_path, {"main.py": textwrap.dedent(text)})
    ran = meshlens("check", "main.py", "--output-format", "concise", cwd=tmp_path)
    assert [line.split()[1] for line in ran.out.splitlines()[:-1]] == ["AX202"]


def test_what_the_named_file_leads_to_is_mentioned(tmp_path):
    files = {
        "sync.py": 'import jax\n\n\ndef average(x):\n    return jax.lax.pmean(x, "bacth")\n',
        "train.py": "import jax\nfrom sync import average\n\n"
        'print(jax.pmap(average, axis_name="batch")(jax.numpy.ones(8)))\n',
        "other.py": 'import jax\n\nprint(jax.pmap(lambda x: jax.lax.psum(x, "b"), axis_name="batch")(1))\n',
    }
    for _ in "cold", "warm":
        ran = meshlens("check", "train.py", cwd=write(tmp_path, files))
        assert ran.code == 0
        assert ran.out.splitlines()[1:] == ["Found in files that were not checked: sync.py:5:29 AX101."]


def test_a_package_in_a_checkout_of_its_name(tmp_path):
    files = {
        "tools/tools/meshes.py": 'import jax\n\n\ndef make():\n    return jax.make_mesh((8,), ("data",))\n',
        "tools/tools/app.py": "from jax.sharding import NamedSharding, PartitionSpec as P\nfrom tools import meshes\n\n"
        'print(NamedSharding(meshes.make(), P("dat")))\n',
    }
    ran = meshlens("check", "tools/tools/app.py", "--output-format", "concise", cwd=write(tmp_path, files))
    assert ran.out.startswith(os.path.join("tools", "tools", "app.py") + ":4:38: AX201")
