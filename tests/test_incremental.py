"""Whatever is typed, the workspace says what a cold start says; and no input makes it raise an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cold_start import ROOT, found, opened
from depth import examples
from oracle.rerun import programs

PROGRAMS = {program.name: program for program in programs()}
PIECES = [
    *("", "\n", "    ", "(", ")", '"', "'", '"""', "#", ":", ",", "\\", "\x00", "é", "𝒳", "\r\n", "\t"),
    *('"batch"', "axis_name=", "def f(x):\n", "class C:\n", "@jax.pmap\n", "lambda x: ", "return ", "import jax\n"),
    *("# meshlens: ignore[unbound-axis]", "jax.lax.psum(x, 'i')", "for i in range(3):\n", "async ", "match x:\n"),
]

pieces = st.sampled_from(PIECES)
edits = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.integers(0, 40), pieces), min_size=1, max_size=6)
quiet = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _sources(name: str) -> dict[Path, bytes]:
    program = PROGRAMS[name]
    folder = program.main.parent
    return {ROOT / path.relative_to(folder): path.read_bytes() for path in program.files}


@quiet
@given(name=st.sampled_from(sorted(PROGRAMS)), edits=edits, ask=st.booleans())
def test_any_edits_give_what_a_cold_start_gives(name, edits, ask):
    sources = _sources(name)
    workspace = opened(sources)
    found(workspace, sources)
    for which, where, length, text in edits:
        path = list(sources)[which % len(sources)]
        old = sources[path].decode("utf-8", "replace")
        at = int(where * len(old))
        sources[path] = (old[:at] + text + old[at + length :]).encode()
        workspace = workspace.with_file(path, sources[path])
        if ask:
            found(workspace, sources)
    assert found(workspace, sources) == found(opened(sources), sources)


@quiet
@given(name=st.sampled_from(sorted(PROGRAMS)), edits=edits)
def test_undoing_gives_back_what_was(name, edits):
    sources = _sources(name)
    workspace = opened(sources)
    before = found(workspace, sources)
    for which, where, length, text in edits:
        path = list(sources)[which % len(sources)]
        at = int(where * len(sources[path]))
        broken = sources[path][:at] + text.encode() + sources[path][at + length :]
        workspace = workspace.with_file(path, broken)
        found(workspace, {path: broken})
        workspace = workspace.with_file(path, sources[path])
    assert found(workspace, sources) == before


@quiet
@given(content=st.one_of(st.binary(max_size=200), st.lists(pieces, max_size=30).map(lambda p: "".join(p).encode())))
def test_no_bytes_raise(content):
    path = ROOT / "main.py"
    found(opened({path: content}), {path: content})


@pytest.mark.parametrize("name", ["deep parentheses", "deep blocks", "deep attributes", "long line", "deep maps"])
def test_extreme_files_do_not_raise(name):
    sources = {
        "deep parentheses": "x = " + "(" * 3000 + "1" + ")" * 3000,
        "deep blocks": "".join("    " * depth + "if x:\n" for depth in range(300)) + "    " * 300 + "pass\n",
        "deep attributes": "x = a" + ".b" * 5000,
        "long line": "import jax\nx = [" + ", ".join(["jax.lax.psum(1, 'i')"] * 3000) + "]",
        "deep maps": "import jax\nf = " + "jax.vmap(" * 400 + "f" + ")" * 400,
    }
    path = ROOT / "main.py"
    source = {path: sources[name].encode()}
    found(opened(source), source)


CIRCLE = {
    "main.py": "from trainer import build_step\n",
    "names.py": 'from trainer import build_step\n\nDATA = "dp"\n',
    "trainer.py": """import jax
from names import DATA


def build_step(loss):
    def step(w, x):
        return w - jax.lax.pmean(x, "data")

    return jax.pmap(step, axis_name=DATA)
""",
}


def test_modules_that_import_each_other_are_run_anew_as_the_first_import_decides_what_they_see():
    sources = {ROOT / name: text.encode() for name, text in CIRCLE.items()}
    workspace = opened(sources)
    assert len(found(workspace, sources)) == 1
    for path, text in ((ROOT / "main.py", ""), (ROOT / "main.py", CIRCLE["main.py"])):
        sources[path] = text.encode()
        workspace = workspace.with_file(path, sources[path])
        assert found(workspace, sources) == found(opened(sources), sources)


def test_an_edit_where_a_route_begins_keeps_what_is_said_of_its_end():
    sources = _sources("130_pkg_eval_script_uses_raw_step")
    workspace = opened(sources)
    before = found(workspace, sources)
    assert [one.code for one in before] == ["AX101"]
    for path, raw in sources.items():
        assert found(workspace.with_file(path, raw), sources) == before
