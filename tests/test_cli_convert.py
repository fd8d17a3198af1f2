"""`meshlens convert`: one function, a file, a folder; what is shown, what is written and what is refused."""

from __future__ import annotations

import subprocess

import pytest

from command_line import meshlens, write

STEP = """\
import jax


def step(x):
    return x - jax.lax.pmean(x, "batch")


p_step = jax.pmap(step, axis_name="batch")
other = jax.pmap(lambda x: x, axis_name="batch")
"""
NESTED = 'import jax\n\nf = jax.pmap(lambda y: jax.pmap(lambda x: x, "j")(y), "i")\n'


def _convert(tmp_path, *arguments):
    return meshlens("convert", *arguments, "--to", "shard_map", cwd=tmp_path)


@pytest.mark.parametrize("name", ["step", "p_step"])
def test_one_function_is_shown(tmp_path, name):
    write(tmp_path, {"a.py": STEP})
    ran = _convert(tmp_path, f"a.py::{name}")
    assert (ran.code, ran.err) == (0, "Would convert 1, refused 0.\n")
    assert '-p_step = jax.pmap(step, axis_name="batch")\n' in ran.out
    assert "\n-other" not in ran.out
    assert (tmp_path / "a.py").read_text() == STEP
    subprocess.run(["patch", "-p1"], input=ran.out.encode(), cwd=tmp_path, check=True, capture_output=True)
    assert "jax.shard_map" in (tmp_path / "a.py").read_text()


def test_a_folder_is_written(tmp_path):
    write(tmp_path, {"a.py": STEP, "b.py": NESTED, "c.py": STEP.replace("\n", "\r\n")})
    ran = _convert(tmp_path, ".", "--all", "--write")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "b.py:3: refused (nested-map): the mapped function applies the pmap on line 3\n"
        "b.py:3: refused (nested-map): this pmap runs inside the pmap on line 3\n"
        "\n"
        "file  converted  refused\n"
        "a.py          2        0\n"
        "b.py          0        2\n"
        "c.py          2        0\n"
        "\n"
        "Converted 4, refused 2.\n"
    )
    assert "jax.pmap" not in (tmp_path / "a.py").read_text()
    assert (tmp_path / "b.py").read_text() == NESTED
    assert (tmp_path / "c.py").read_bytes().count(b"\r\n") == (tmp_path / "c.py").read_bytes().count(b"\n")


def test_several_processes_are_spoken_of(tmp_path):
    leading = STEP + '\nif jax.process_index() == 0:\n    print("ready")\n'
    write(tmp_path, {"a.py": leading, "b.py": STEP, "c.py": leading})
    note = "the process index or count; shard_map takes the rows of all processes as one global array\n"
    assert f"note: a.py and 1 more use {note}" in _convert(tmp_path, ".", "--all").err
    assert f"note: a.py uses {note}" in _convert(tmp_path, "a.py::step").err
    assert "note:" not in _convert(tmp_path, "b.py::step").err
    assert "note:" not in meshlens("convert", "a.py::step", "--to", "vmap", cwd=tmp_path).err


COMPILED = """
import jax
import jax.numpy as jnp


class Trainer:
    def __init__(self):
        self.step = jax.jit(self._step)
        self.both = jax.jit(self._both)

    def _step(self, params, batch):
        return jnp.mean((batch @ params) ** 2)

    def _both(self, batch):
        return helper(batch)

    def fit(self, params, batch):
        return self.step(params, batch), self.both(batch)


def helper(batch):
    return batch.sort()


def mean_of(params, batch):
    return jnp.mean(batch @ params)


evaluate = jax.jit(mean_of)
evaluate(jnp.ones(3), jnp.ones((8, 3)))
"""


@pytest.mark.parametrize("target", ["jit", "pmap", "shard_map"])
@pytest.mark.parametrize("name", ["Trainer.step", "evaluate"])
def test_a_function_has_the_name_of_its_compiled_version_too(tmp_path, name, target):
    ran = meshlens("convert", f"a.py::{name}", "--to", target, cwd=write(tmp_path, {"a.py": COMPILED}))
    assert ran.err.endswith("Would convert 1, refused 0.\n")


def test_a_compiled_method_that_does_not_name_jax_gets_a_reason(tmp_path):
    ran = meshlens("convert", "a.py::Trainer.both", "--to", "pmap", cwd=write(tmp_path, {"a.py": COMPILED}))
    assert "refused (unreduced-output)" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.py"], "FILE --all"),
        (["a.py::step", "--all"], "FILE --all"),
        (["a.py::nothing"], 'found no function or map named "nothing" to convert; the file\'s functions: step\n'),
        (["a.py::stepp"], 'found no function or map named "stepp" to convert; did you mean "step"?\n'),
        (["broken.py::step"], 'found no function or map named "step" to convert; the file has a syntax error\n'),
        ([".::step"], ". is a folder; name the file of the function: FILE::FUNCTION"),
        (["gone.py::step"], "gone.py: no such file or folder"),
    ],
)
def test_what_cannot_be_done(tmp_path, arguments, said):
    ran = _convert(write(tmp_path, {"a.py": STEP, "broken.py": "def step(:\n    x\n"}), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


JITTED = """\
import jax
import jax.numpy as jnp


@jax.jit
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    return params - grads


@jax.jit
def rows(batch):
    return batch * 2


params = step(jnp.ones(3), rows(jnp.ones((8, 3))))
"""


CALLED = """\
import jax
import jax.numpy as jnp


def step(params, batch):
  grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
  return params - grads


class Trainer:
  def __init__(self):
    self.update = jax.jit(self.step)

  def step(self, params, batch):
    return params - jax.lax.stop_gradient(params) * batch.ndim


train_step = jax.jit(step)
params = train_step(jnp.ones(3), jnp.ones((8, 3)))
"""


def test_what_jit_is_called_on_becomes_a_pmap_in_the_style_of_the_file(tmp_path):
    write(tmp_path, {"a.py": CALLED})
    ran = meshlens("convert", "a.py", "--all", "--to", "pmap", "--write", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Converted 2, refused 0.\n")
    text = (tmp_path / "a.py").read_text()
    assert 'train_step = jax.pmap(step, axis_name="batch", in_axes=(None, 0), out_axes=None)\n' in text
    assert "self.update = jax.pmap(" in text
    assert "\n  def split(x):\n    traced = " in text


def test_what_was_written_as_a_pmap_becomes_a_shard_map(tmp_path):
    two = CALLED.replace("step(params, batch)", "step(params, batch, labels)").replace("@ p)", "@ p - labels)")
    write(tmp_path, {"a.py": two.replace("jnp.ones((8, 3)))", "jnp.ones((8, 3)), jnp.ones(8))")})
    ran = meshlens("convert", "a.py::step", "--to", "pmap", "--write", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Converted 2, refused 0.\n")
    assert "*shard((" in (tmp_path / "a.py").read_text()
    ran = _convert(tmp_path, "a.py::train_step")
    assert (ran.code, ran.err) == (0, "Would convert 1, refused 0.\n")


SAME_NAMES = """\
import jax
import jax.numpy as jnp


class Env:
    def __init__(self, env):
        def reset(batch):
            return jnp.sin(env.reset(batch))

        self._reset = jax.jit(reset)
        self._step = jax.jit(self.step)

    def reset(self):
        return jnp.sin(self._reset(3))

    def step(self, batch):
        return jnp.cumsum(batch)


class Other:
    def step(self, batch):
        return jnp.sin(batch)
"""


def test_what_only_has_the_name_of_a_jitted_function_is_left_out(tmp_path):
    write(tmp_path, {"a.py": SAME_NAMES})
    ran = meshlens("convert", "a.py", "--all", "--to", "pmap", cwd=tmp_path)
    said = [line.split(":")[1] for line in ran.err.splitlines() if "refused (" in line]
    assert (said, ran.err.splitlines()[-1]) == (["7", "16"], "Would convert 0, refused 2.")


def test_several_functions_of_a_file(tmp_path):
    write(tmp_path, {"a.py": STEP})
    ran = _convert(tmp_path, "a.py::p_step", "a.py::other", "--write")
    assert (ran.code, ran.err) == (0, "Converted 2, refused 0.\n")
    assert "jax.pmap" not in (tmp_path / "a.py").read_text()


def test_a_function_that_another_file_uses_keeps_its_calls(tmp_path):
    write(
        tmp_path, {"pyproject.toml": "", "step.py": JITTED, "main.py": "from step import step, rows\n\nprint(step)\n"}
    )
    ran = meshlens("convert", "step.py::rows", "--to", "shard_map", cwd=tmp_path)
    assert ran.code == 0
    assert '+@on_all_devices(in_specs=(P("batch"),), out_specs=P("batch"))' in ran.out
    assert "main.py" not in ran.out


def test_reasons_are_counted(tmp_path):
    unreduced = (
        "import jax\n\n\n@jax.jit\ndef rows(batch):\n    return jax.numpy.sort(batch)\n\n\nrows(jax.numpy.ones(8))\n"
    )
    unknown = "\n\n@jax.jit\ndef other(what, how):\n    return what\n"
    write(tmp_path, {"a.py": unreduced, "b.py": unreduced + unknown})
    ran = meshlens("convert", ".", "--all", "--to", "pmap", cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.split("\n")[3:] == [
        "",
        "file  converted  refused",
        "a.py          0        1",
        "b.py          0        2",
        "",
        "refused because   places",
        "unreduced-output       2",
        "which-batch            1",
        "",
        "Would convert 0, refused 3.",
        "",
    ]


def test_a_method_is_named_with_its_class(tmp_path):
    write(tmp_path, {"a.py": CALLED})
    ran = meshlens("convert", "a.py::Trainer.step", "--to", "pmap", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Would convert 1, refused 0.\n")
    assert "+    self.update = jax.pmap(" in ran.out


def test_jitted_functions_become_pmaps(tmp_path):
    write(tmp_path, {"a.py": JITTED})
    ran = meshlens("convert", "a.py", "--all", "--to", "pmap", "--axis-name", "data", "--write", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (0, "", "Converted 2, refused 0.\n")
    text = (tmp_path / "a.py").read_text()
    assert '@functools.partial(jax.pmap, axis_name="data", in_axes=(None, 0), out_axes=None)\ndef step' in text
    assert "params = step(jnp.ones(3), shard(merge(rows(shard(jnp.ones((8, 3)))), jnp.ones((8, 3)))))" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "pmap", "--devices", "4"], "devices=jax.devices()[:4]"),
        (["--to", "shard_map", "--devices", "4"], 'Mesh(np.array(jax.devices()[:4]), ("batch",))'),
        (["--to", "shard_map", "--devices", "2x4"], '.reshape(2, 4), ("batch", "model"))'),
        (["--to", "pmap", "--in-axes", "(None, 0)"], "in_axes=(None, 0)"),
    ],
)
def test_devices_and_axes_are_what_the_user_says(tmp_path, options, said):
    write(tmp_path, {"a.py": JITTED})
    ran = meshlens("convert", "a.py::step", *options, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Would convert 1, refused 0.\n")
    assert said in ran.out


def test_the_configuration_names_the_axis(tmp_path):
    write(tmp_path, {"a.py": JITTED, "meshlens.toml": 'axis-name = "replica"\n'})
    ran = meshlens("convert", "a.py::step", "--to", "pmap", cwd=tmp_path)
    assert 'axis_name="replica"' in ran.out
    ran = meshlens("convert", "a.py::step", "--to", "pmap", "--axis-name", "data", cwd=tmp_path)
    assert 'axis_name="data"' in ran.out


def test_devices_that_are_none_are_refused(tmp_path):
    write(tmp_path, {"a.py": JITTED})
    ran = meshlens("convert", "a.py::step", "--to", "pmap", "--devices", "many", cwd=tmp_path)
    assert ran.code == 2
    assert "expected a number of devices" in ran.err
    ran = meshlens("convert", "a.py::step", "--to", "pmap", "--devices", "2x4", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "refused (one-axis): a pmap has only one device axis" in ran.err


def test_a_pmap_becomes_a_vmap_and_comes_back(tmp_path):
    text = 'import jax\nimport jax.numpy as jnp\n\nf = jax.pmap(jnp.sin, axis_name="i")\nout = f(jnp.ones((8, 3)))\n'
    write(tmp_path, {"a.py": text, "meshlens.toml": "devices = 8\n"})
    ran = meshlens("convert", "a.py::f", "--to", "vmap", "--write", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Converted 1, refused 0.\n")
    assert 'f = jax.jit(jax.vmap(jnp.sin, axis_name="i"))\n' in (tmp_path / "a.py").read_text()
    ran = meshlens("convert", "a.py::f", "--to", "pmap", "--write", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Converted 1, refused 0.\n")
    assert (tmp_path / "a.py").read_text() == text


def test_every_pmap_of_a_folder_becomes_a_vmap(tmp_path):
    write(tmp_path, {"a.py": STEP, "b.py": NESTED})
    ran = meshlens("convert", ".", "--all", "--to", "vmap", "--write", cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.endswith("Converted 2, refused 2.\n")
    assert "jax.pmap" not in (tmp_path / "a.py").read_text()


def test_vmap_of_what_no_pmap_maps(tmp_path):
    ran = meshlens("convert", "a.py::rows", "--to", "vmap", cwd=write(tmp_path, {"a.py": JITTED}))
    assert ran.code == 2
    why = 'found no pmap named "rows" to convert; it is a function, and --to vmap converts only pmaps'
    assert ran.err == f"meshlens: a.py: {why}\n"


PLAIN = """\
import jax.numpy as jnp


def double(w):
    return w * 2


def outer(model):
    return double(model)


print(outer(jnp.arange(16.0)))
"""


def test_what_is_best_is_the_default_of_parallelize(tmp_path):
    write(tmp_path, {"a.py": PLAIN, "b.py": STEP})
    ran = meshlens(
        "parallelize", "a.py::outer", "--batch", "model", "--axis-name", "rows", "--devices", "4", cwd=tmp_path
    )
    assert (ran.code, ran.err) == (0, "Would convert 1, refused 0.\n")
    assert "+@jax.jit\n def outer" in ran.out
    assert '+    return Mesh(np.array(jax.devices()[:4]), ("rows",))\n' in ran.out
    assert "+print(outer(shard_batch(jnp.arange(16.0))))\n" in ran.out
    assert "jax.shard_map" in meshlens("parallelize", "b.py::step", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("rows", "devices", "is_told"),
    [("16.0", "4", False), ("18.0", "4", True), ("16.0", "", True), ("count", "4", True)],
)
def test_rows_that_may_not_divide_are_told(tmp_path, rows, devices, is_told):
    write(tmp_path, {"a.py": PLAIN.replace("arange(16.0)", f"arange({rows})")})
    sizes = ["--devices", devices] if devices else []
    ran = meshlens("parallelize", "a.py::outer", "--to", "jit", "--batch", "model", *sizes, cwd=tmp_path)
    note = "a.py:8: note: rows that do not divide evenly over the devices are not split; "
    note += "each device computes all of them\n"
    assert (ran.code, ran.err) == (0, f"{note * is_told}Would convert 1, refused 0.\n")


def test_a_state_is_not_split_where_nobody_calls_the_function(tmp_path):
    step = "import jax\n\n\n@jax.jit\ndef step(params, batch):\n    return params - (batch @ params).mean()\n"
    write(tmp_path, {"a.py": step})
    asked = ("parallelize", "a.py::step", "--strategy", "fsdp")
    refused = 'a.py:5: refused (no-state): no loop passes "step" a state that could be split'
    ran = meshlens(*asked, cwd=tmp_path)
    assert (ran.code, ran.out, ran.err.split("\n")[0]) == (1, "", refused)


def test_a_question_names_the_option_that_answers_it(tmp_path):
    write(tmp_path, {"a.py": PLAIN})
    ran = meshlens("parallelize", "a.py::outer", cwd=tmp_path)
    question = 'a.py:8: refused (which-batch): it is unknown which argument of "outer" holds the batch; '
    question += "pass --batch ARG[:AXIS] for each argument that holds rows"
    assert (ran.code, ran.err.split("\n")[0]) == (1, question)
    ran = meshlens("parallelize", "a.py::outer", "--batch", "rows", cwd=tmp_path)
    assert 'refused (no-such-argument): "outer" has no argument "rows"' in ran.err
    ran = meshlens("parallelize", "a.py::outer", "--batch", "model", "--strategy", "fsdp", cwd=tmp_path)
    assert "refused (no-state)" in ran.err


@pytest.mark.parametrize(
    "wrong", [("--batch", "x:y"), ("--to", "pmap", "--strategy", "fsdp"), ("--strategy", "fsdp", "--to", "vmap")]
)
def test_options_that_make_no_sense_are_refused(tmp_path, wrong):
    write(tmp_path, {"a.py": PLAIN})
    ran = meshlens("parallelize", "a.py::outer", *wrong, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")


EVALUATION = """\
import jax
import jax.numpy as jnp


@jax.jit
def evaluate(params, x):
    return jnp.mean((x @ params) ** 2)


@jax.jit
def rows(x):
    return x * 2


print(rows(jnp.ones((8, 3))))
"""
JITTED_ELSEWHERE = """\
import jax
import jax.numpy as jnp
from a import evaluate


@jax.jit
def step(params, x):
    return params - 0.1 * evaluate(params, x)


print(step(jnp.ones(3), jnp.ones((16, 3))))
"""


def test_what_would_have_a_new_finding_is_refused_with_it(tmp_path):
    write(tmp_path, {"a.py": EVALUATION, "b.py": JITTED_ELSEWHERE})
    ran = meshlens("parallelize", "a.py::evaluate", "--to", "pmap", "--write", cwd=tmp_path)
    why = "the result would trigger AX602: pmap is called inside step, which is jitted"
    assert (ran.code, f"a.py:6: refused (new-finding): {why}" in ran.err) == (1, True)
    assert (tmp_path / "a.py").read_text() == EVALUATION
    ran = meshlens("parallelize", "a.py::evaluate", "--to", "shard_map", "--write", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Converted 1, refused 0.\n")


def test_others_are_converted_beside_what_would_have_a_new_finding(tmp_path):
    write(tmp_path, {"a.py": EVALUATION, "b.py": JITTED_ELSEWHERE})
    ran = meshlens("parallelize", "a.py", "--all", "--to", "pmap", "--write", cwd=tmp_path)
    assert (ran.code, ran.err.split("\n")[-2]) == (1, "Converted 1, refused 1.")
    text = (tmp_path / "a.py").read_text()
    assert "@jax.jit\ndef evaluate" in text
    assert "@jax.jit\ndef rows" not in text


def test_a_lambda_that_nothing_compiles_is_converted_only_by_name(tmp_path):
    text = "import jax.numpy as jnp\n\nhalve = lambda x: x / 2\nlog = lambda path, value: print(path, value)\n"
    write(tmp_path, {"a.py": text + 'print(halve(jnp.ones((8, 2))))\nlog("out.txt", 1)\n'})
    assert meshlens("parallelize", "a.py", "--all", cwd=tmp_path).err == "Would convert 0, refused 0.\n"
    asked = ("parallelize", "a.py::halve", "--devices", "4")
    assert meshlens(*asked, cwd=tmp_path).err == "Would convert 1, refused 0.\n"


UNCOMPILED = """\
import jax
import jax.numpy as jnp


def loss_fn(params, x):
    return jnp.mean((x @ params) ** 2)


def step(params, x):
    return params - jax.grad(loss_fn)(params, x)


def unused(params, x):
    return params - jax.grad(loss_fn)(params, x)


def main():
    print(step(jnp.ones(3), jnp.ones((8, 3))))


main()
"""


@pytest.mark.parametrize("target", ["jit", "pmap", "shard_map"])
def test_what_could_be_converted_by_name_is_spoken_of(tmp_path, target):
    write(tmp_path, {"a.py": UNCOMPILED})
    ran = meshlens("parallelize", "a.py", "--all", "--to", target, cwd=tmp_path)
    note = 'note: no jit compiles "step", so --all leaves it out; pass a.py::step to convert it\n'
    assert (ran.code, ran.err) == (0, f"Would convert 0, refused 0.\n{note}")
    ran = meshlens("parallelize", "a.py::step", "--to", target, cwd=tmp_path)
    assert (ran.code, ran.err.split("\n")[-2]) == (0, "Would convert 1, refused 0.")


def test_that_vmap_replaces_only_pmaps_is_said(tmp_path):
    write(tmp_path, {"a.py": JITTED})
    ran = meshlens("parallelize", "a.py", "--all", "--to", "vmap", cwd=tmp_path)
    note = "note: --to vmap converts only pmaps, and there are none\n"
    assert (ran.code, ran.err) == (0, f"Would convert 0, refused 0.\n{note}")


DRAWS = """\
import jax
import jax.numpy as jnp


def loss_fn(params, key, batch):
    kept = jax.random.bernoulli(key, 0.8, batch.shape)
    return jnp.mean((jnp.where(kept, batch, 0.0) @ params) ** 2)


@jax.jit
def step(params, key, batch):
    return params - 0.1 * jax.grad(loss_fn)(params, key, batch)


params = step(jnp.ones(3), jax.random.key(0), jnp.ones((16, 3)))
"""


@pytest.mark.parametrize(("target", "said"), [("pmap", True), ("shard_map", True), ("jit", False)])
def test_numbers_that_change_are_spoken_of(tmp_path, target, said):
    write(tmp_path, {"a.py": DRAWS})
    ran = meshlens("parallelize", "a.py::step", "--to", target, cwd=tmp_path)
    assert ran.code == 0, ran.err
    note = "a.py:11: note: each device draws its own random numbers, so the results change\n"
    assert (note in ran.err) == said, ran.err


def test_jitted_functions_of_a_folder_without_pmaps(tmp_path):
    jitted = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef step(x):\n    return jnp.mean(x**2)\n"
    write(tmp_path, {"a.py": f"{jitted}\n\nprint(step(jnp.ones((8, 4))))\n"})
    ran = _convert(tmp_path, ".", "--all")
    assert ran.err == _convert(tmp_path, "a.py::step").err == "Would convert 1, refused 0.\n"
    assert "shard_map" in ran.out
    write(tmp_path, {"b.py": STEP})
    assert "+++ b/a.py" not in _convert(tmp_path, ".", "--all").out


def test_what_only_jit_runs_on_several_devices_is_told(tmp_path):
    mixing = DRAWS.replace("jnp.where(kept, batch, 0.0) @ params", "(batch - batch[0]) @ params")
    write(tmp_path, {"a.py": mixing})
    ran = meshlens("parallelize", "a.py::step", "--to", "pmap", cwd=tmp_path)
    assert (ran.code, ran.err.rstrip("\n").split("\n")[-1]) == (1, 'note: "step" can be converted with --to jit')
    assert "note:" not in meshlens("parallelize", "a.py::loss_fn", "--to", "vmap", cwd=tmp_path).err
