"""Programs for one device as people write them: mapped over eight devices, they give the same results.

The first lines of each program name the target and the functions to convert.  JAX runs it before and after.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import depth
import numbers_of_programs
import virtual_devices
from command_line import meshlens, write

PROGRAMS = sorted((Path(__file__).parent / "mapped").glob("*.py"))
TASKS = [(path, target) for path in PROGRAMS for target in path.read_text("utf-8").split("\n")[0].split()[2:]]
NOISY = """
import jax
import jax.numpy as jnp


def loss_fn(params, batch, key):
    mask = jax.random.bernoulli(key, 0.5, batch.shape)
    return jnp.mean((jnp.where(mask, 2 * batch, 0.0) @ params - 1) ** 2)


@jax.jit
def step(params, batch, rng):
    rng, step_rng = jax.random.split(rng)
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, step_rng)
    return loss, grads, rng


params = jnp.ones(3)
rng = first = jax.random.PRNGKey(0)
batch = jnp.sin(jnp.arange(192.0)).reshape(64, 3)
losses = []
for _ in range(100):
    loss, grads, rng = step(params, batch, rng)
    losses.append(float(loss))
mean = sum(losses) / len(losses)
spread = (sum((loss - mean) ** 2 for loss in losses) / len(losses)) ** 0.5
"""


def functions_of(program: Path) -> list[str]:
    """Returns the functions of a program that are to be mapped."""
    return program.read_text("utf-8").split("\n")[1].removeprefix("# convert: ").split()


def _converted(program: Path, target: str, room: Path) -> Path:
    path = room / program.name
    path.write_bytes(program.read_bytes())
    for name in functions_of(program):
        ran = meshlens("convert", f"{path.name}::{name}", "--to", target, "--write", cwd=room)
        assert ran.code == 0, ran.err
    return path


def _ends_with(program: Path) -> dict[str, Any]:
    """Returns what a program ends with on eight devices."""
    python = os.environ.get("MESHLENS_JAX_PYTHON", sys.executable)
    answer = program.with_suffix(".pickle")
    environment = {**os.environ, **virtual_devices.environment()}
    subprocess.run([python, numbers_of_programs.__file__, str(program), str(answer)], env=environment, check=True)
    found: dict[str, Any] = pickle.loads(answer.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("program", "target"), TASKS, ids=lambda one: getattr(one, "stem", one))
def test_what_comes_out_is_quiet(program: Path, target: str, tmp_path: Path) -> None:
    path = _converted(program, target, tmp_path)
    ran = meshlens("check", path.name, cwd=tmp_path)
    assert ran.code == 0, ran.out


@pytest.mark.jax
@pytest.mark.parametrize(("program", "target"), depth.some(TASKS, 6), ids=lambda one: getattr(one, "stem", one))
def test_the_numbers_are_the_same(program: Path, target: str, tmp_path: Path) -> None:
    assert numbers_of_programs.differences(program, _converted(program, target, tmp_path)) == []


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_each_device_draws_its_own_numbers(target: str, tmp_path: Path) -> None:
    write(tmp_path, {"before.py": NOISY, "after.py": NOISY})
    ran = meshlens("convert", "after.py::step", "--to", target, "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    wanted, found = _ends_with(tmp_path / "before.py"), _ends_with(tmp_path / "after.py")
    # Draws that are the same on all devices would spread the mean of the loss more than twice as far.
    assert abs(wanted["mean"][0] - found["mean"][0]) < 3 * 2**0.5 * 0.1 * wanted["spread"][0]
    assert found["spread"][0] < 1.5 * wanted["spread"][0]
    assert [float(one) for one in wanted["losses"]] != [float(one) for one in found["losses"]]
    assert (wanted["rng"][0] == found["rng"][0]).all()


OF_NNX = """
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.last = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(x)


@nnx.jit
def predict(model, x):
    return model(x)


model = Net(nnx.Rngs(0))
y = predict(model, jnp.arange(64.0).reshape(16, 4))
"""


@pytest.mark.parametrize(("jax", "keyword"), [("0.7.2", "check_rep=False"), ("0.8.1", "check_vma=False")])
def test_the_map_of_nnx_is_spelled_as_its_flax_spells_it(jax: str, keyword: str, tmp_path: Path) -> None:
    write(tmp_path, {"main.py": OF_NNX, "meshlens.toml": f'jax-version = "{jax}"\n'})
    ran = meshlens("convert", "main.py::predict", "--to", "shard_map", "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert keyword in (tmp_path / "main.py").read_text()
