"""Programs for one device as people write them: with sharded data, they give the same results.

The first line of each program names what to convert.  JAX runs it before and after, on eight virtual devices.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import depth
import numbers_of_programs
import virtual_devices
from command_line import meshlens

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


WITH_A_STATE = (
    "equinox_step",
    "gan",
    "haiku_dropout",
    "linen_batch_norm_dropout",
    "nnx_mnist",
    "not_jitted_nnx",
    "time_major_rnn",
)


def _converted(program: Path, room: Path, *options: str) -> Path:
    path = room / program.name
    path.write_bytes(program.read_bytes())
    names = program.read_text("utf-8").split("\n")[0].removeprefix("# convert: ").split()
    for name in names[: 1 if options else None]:
        ran = meshlens("parallelize", f"{path.name}::{name}", *options, "--write", cwd=room)
        assert ran.code == 0, ran.err
    return path


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_what_comes_out_is_quiet_and_places_data_once(program: Path, tmp_path: Path) -> None:
    path = _converted(program, tmp_path)
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    helpers = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert helpers.count("device_mesh") == 1
    assert len(helpers) == len(set(helpers))
    assert "shard_batch(shard_batch(" not in text
    ran = meshlens("check", path.name, cwd=tmp_path)
    assert ran.code == 0, ran.out


@pytest.mark.jax
@pytest.mark.parametrize("program", depth.some(PROGRAMS, 3), ids=lambda path: path.stem)
def test_the_numbers_are_the_same(program: Path, tmp_path: Path) -> None:
    assert numbers_of_programs.differences(program, _converted(program, tmp_path)) == []


@pytest.mark.jax
@pytest.mark.parametrize("name", depth.some(WITH_A_STATE, 1))
def test_the_numbers_are_the_same_with_a_state_that_is_split(name: str, tmp_path: Path) -> None:
    program = next(one for one in PROGRAMS if one.stem == name)
    path = _converted(program, tmp_path, "--strategy", "fsdp")
    assert "def shard_state(" in path.read_text("utf-8")
    assert "def replicate(" not in path.read_text("utf-8")
    assert numbers_of_programs.differences(program, path) == []


@pytest.mark.jax
def test_a_split_state_stays_split_through_the_loop(tmp_path: Path) -> None:
    path = _converted(next(one for one in PROGRAMS if one.stem == "time_major_rnn"), tmp_path, "--strategy", "fsdp")
    path.write_text(path.read_text("utf-8").replace("size=(3, 5)", "size=(3, 8)").replace("np.eye(5)", "np.eye(8)"))
    path.write_text(path.read_text("utf-8").replace("size=(5, 1)", "size=(8, 1)").replace(", 5))", ", 8))"))
    code = (
        f"import runpy; params = runpy.run_path({str(path)!r})['params']\n"
        "print(*(one.sharding.shard_shape(one.shape) for _, one in sorted(params.items())))"
    )
    environment = {**os.environ, **virtual_devices.environment()}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "(3, 1) (1, 1) (1, 8)\n"


def test_rows_along_another_axis_are_split_there(tmp_path: Path) -> None:
    program = next(one for one in PROGRAMS if one.stem == "time_major_rnn")
    assert "train_step(params, shard_axis(sequences, 1)" in _converted(program, tmp_path).read_text("utf-8")
    told = _converted(program, tmp_path, "--batch", "sequences:1", "--batch", "targets:1").read_text("utf-8")
    assert "shard_axis(np.cumsum(sequences, axis=0).sum(axis=-1), 1)" in told
    assert "def shard_batch(" not in told


@pytest.mark.jax
def test_the_rows_lie_on_all_devices(tmp_path: Path) -> None:
    path = _converted(next(one for one in PROGRAMS if one.stem == "elementwise"), tmp_path)
    code = f"import runpy; print(len(runpy.run_path({str(path)!r})['doubled'].addressable_shards[0].data))"
    environment = {**os.environ, **virtual_devices.environment()}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "2\n"


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = _converted(next(one for one in PROGRAMS if one.stem == "haiku_dropout"), tmp_path)
    ran = meshlens("convert", f"{path.name}::main.update", "--to", "jit", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "already place their data" in ran.err
