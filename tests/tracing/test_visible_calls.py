"""The arguments taken from calls visible in a file are those that the program really passes."""

from pathlib import Path

import pytest

import depth
from tracing.releases import VERSION

SCRIPTS = Path(__file__).with_name("scripts")
ENTRIES = [
    ("plain_argparse.py", "train_step"),
    ("linen_state.py", "train_step"),
    *([("nnx_script.py", "train_step")] if VERSION >= (0, 6) else []),
    ("equinox_main.py", "make_step"),
    ("trainer_class.py", "Trainer.step"),
    ("mapped_main.py", "update"),
]

pytestmark = pytest.mark.jax


@pytest.mark.parametrize(("file", "name"), depth.some(ENTRIES, 2))
def test_what_is_visible_is_what_the_program_calls_with(traced, file, name):
    visible = traced(SCRIPTS / file, name)
    assert (visible.errors, visible.level) == ((), "partitioned")
    run = traced(SCRIPTS / file, name, runs_main=True)
    assert run.errors == ()
    assert visible.totals == run.totals
    assert visible.totals
    assert (visible.lines, visible.mesh, visible.flops) == (run.lines, run.mesh, run.flops)


RENAMED = """\
import jax
import jax.numpy as jnp


def without_mapped_axis(function):
    def on_shard(*args):
        return function(*args)

    return on_shard


@jax.jit
@without_mapped_axis
def other(w):
    return w


@jax.jit
@without_mapped_axis
def step(w, batch):
    return w - batch["x"].mean(axis=0)


print(step(other(jnp.ones(3)), {"x": jnp.ones((8, 3))}))
"""


@pytest.mark.parametrize("runs_main", [False, True])
def test_a_function_that_a_decorator_names_anew(traced, tmp_path, runs_main):
    file = tmp_path / "train.py"
    file.write_text(RENAMED)
    found = traced(file, "step", runs_main=runs_main)
    assert found.errors == ()
    row = RENAMED.splitlines().index('    return w - batch["x"].mean(axis=0)') + 1
    assert row in {line.place.row for line in found.lines}


STEP = """\
import jax
import jax.numpy as jnp


@jax.jit
def step(w, batch):
    return w - (batch["x"].T @ (batch["x"] @ w - batch["y"]))


"""


def faults(traced, tmp_path, source, name="step", **options):
    """Returns the trace of a file with this source."""
    file = tmp_path / "train.py"
    file.write_text(source)
    return traced(file, name, **options)


LOADERS = {
    "opens a connection": "    import urllib.request\n    urllib.request.urlopen('http://127.0.0.1:9/data')\n",
    "writes a file": "    open('cache.bin', 'w')\n",
    "starts a process": "    import subprocess\n    subprocess.run(['true'])\n",
    "creates a folder": "    import os\n    os.makedirs('cache/of/data')\n",
}
UNSEEN = (
    STEP
    + """def batches():
LOADER    yield {"x": jnp.ones((8, 4)), "y": jnp.ones((8, 2))}


def main():
    w = jnp.zeros((4, 2))
    for batch in batches():COMMENT
        w = step(w, batch)


if __name__ == "__main__":
    main()
"""
)


@pytest.mark.parametrize("said", LOADERS)
def test_a_loader_that_is_not_run_is_named_with_the_comment_to_write(traced, tmp_path, said):
    source = UNSEEN.replace("LOADER", LOADERS[said])
    (fault,) = faults(traced, tmp_path, source.replace("COMMENT", "")).errors
    assert fault.type == "NoArguments"
    assert f" {said}, which a trace does not allow" in fault.message
    comment = '# meshlens: assume batch = {"x": f32[...], "y": f32[...]}'
    assert fault.message.endswith(comment)
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "cache.bin").exists()
    told = comment.replace("f32[...]", "f32[8, 4]", 1).replace("f32[...]", "f32[8, 2]")
    found = faults(traced, tmp_path, source.replace("COMMENT", f"  {told}"))
    assert found.errors == ()
    assert [line.shape for line in found.lines] == [(4, 2)]


@pytest.mark.parametrize(
    ("main", "said"),
    [
        (
            "def main(rows):\n    step(jnp.zeros((4, 2)), {'x': jnp.ones((rows, 4)), 'y': jnp.ones((rows, 2))})\n",
            "rows",
        ),
        ("def main():\n    step(jnp.zeros((4, 2)), {'x': 1 / 0})\n\nmain()\n", "ZeroDivisionError: division by zero"),
        (
            "def main():\n    import argparse\n    p = argparse.ArgumentParser()\n    p.add_argument('rows')\n"
            "    args = p.parse_args()\n    step(jnp.zeros((4, 2)), jnp.ones(int(args.rows)))\n\n\n"
            "if __name__ == '__main__':\n    main()\n",
            "pass its command-line arguments after `--`",
        ),
    ],
    ids=["a parameter that nobody gives", "an error of the program", "a command line"],
)
def test_what_the_file_does_not_show(traced, tmp_path, main, said):
    (fault,) = faults(traced, tmp_path, STEP + main).errors
    assert fault.type == "NoArguments"
    assert said in fault.message


def test_the_command_line_of_the_program(traced, tmp_path):
    main = (
        "def main():\n    import argparse\n    p = argparse.ArgumentParser()\n    p.add_argument('--rows', type=int)\n"
        "    rows = p.parse_args().rows\n"
        "    w = step(jnp.zeros((4, 2)), {'x': jnp.ones((rows, 4)), 'y': jnp.ones((rows, 2))})\n"
        "\n\nif __name__ == '__main__':\n    main()\n"
    )
    found = faults(traced, tmp_path, STEP + main, argv=("--rows", "24"))
    assert found.flops == 2 * (2 * 24 * 4 * 2)


def test_only_what_the_arguments_depend_on_runs(traced, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    main = (
        f"def log(*values):\n    {trap}\n\n\ndef main():\n    log('begin')\n    w = jnp.zeros((4, 2))\n"
        "    for epoch in range(1000):\n        log(epoch)\n        for rows in (8, 16):\n"
        "            batch = {'x': jnp.ones((rows, 4)), 'y': jnp.ones((rows, 2))}\n"
        "            w = step(w, batch)\n            log(w)\n\n\nmain()\n"
    )
    found = faults(traced, tmp_path, STEP + main)
    assert found.errors == ()
    assert found.flops == 2 * (2 * 8 * 4 * 2)
    assert not (tmp_path / "ran").exists()


def test_a_loop_before_the_call_does_not_run_for_names_that_are_bound_again(traced, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
    main = (
        f"def main():\n    for w in range(3):\n        {trap}\n    w = jnp.zeros((4, 2))\n"
        "    step(w, {'x': jnp.ones((LATER, 4)), 'y': jnp.ones((LATER, 2))})\n\n\nLATER = 8\nmain()\n"
    )
    found = faults(traced, tmp_path, STEP + main)
    assert (found.errors, found.flops) == ((), 2 * (2 * 8 * 4 * 2))
    assert not (tmp_path / "ran").exists()


def test_no_array_is_made_for_shapes(traced, tmp_path):
    main = (
        "def main():\n    w = jax.random.normal(jax.random.key(0), (1 << 18, 1 << 14))\n"
        "    step(w, {'x': jnp.ones((8, 1 << 18)), 'y': jnp.ones((8, 1 << 14))})\n\n\nmain()\n"
    )
    found = faults(traced, tmp_path, STEP + main, memory=2 << 30)
    assert (found.errors, found.lines[-1].shape) == ((), (1 << 18, 1 << 14))


def test_what_needs_values_is_made_for_real(traced, tmp_path):
    main = (
        "def main():\n    rows = int(jnp.arange(9).max())\n    scale = jnp.ones(2)\n\n"
        "    @jax.jit\n    def scaled(w, x):\n        return x @ w * scale\n\n"
        "    scaled(jnp.zeros((4, 2)), jnp.ones((rows, 4)))\n\n\nmain()\n"
    )
    found = faults(traced, tmp_path, STEP + main, name="scaled")
    assert (found.errors, found.lines[-1].shape) == ((), (8, 2))


def test_a_function_that_holds_arrays_is_traced_with_real_ones(traced, tmp_path):
    main = (
        "def main():\n    scale = jnp.ones(2)\n\n"
        "    @jax.jit\n    def scaled(w, x):\n        return x @ w * scale\n\n"
        "    scaled(jnp.zeros((4, 2)), jnp.ones((8, 4)))\n\n\nmain()\n"
    )
    found = faults(traced, tmp_path, STEP + main, name="scaled")
    assert (found.errors, found.lines[-1].shape) == ((), (8, 2))


def test_nothing_of_an_untrusted_folder_runs_for_arguments(traced, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    found = faults(traced, tmp_path, trap + STEP + "step(jnp.ones(2), {})\n", untrusted=(tmp_path,))
    assert [error.type for error in found.errors] == ["NotTrusted"]
    assert not (tmp_path / "ran").exists()
