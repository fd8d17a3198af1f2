"""Programs for one device as people write them: with their data sharded, they come to the same numbers.

Each program names in its first line what to convert.  JAX runs it before and after, on eight virtual devices.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import numbers_of_programs
from command_line import meshlens

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def _converted(program: Path, room: Path) -> Path:
    path = room / program.name
    path.write_bytes(program.read_bytes())
    for name in program.read_text("utf-8").split("\n")[0].removeprefix("# convert: ").split():
        ran = meshlens("convert", f"{path.name}::{name}", "--to", "jit", "--write", cwd=room)
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
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_numbers_are_the_same(program: Path, tmp_path: Path) -> None:
    assert numbers_of_programs.differences(program, _converted(program, tmp_path)) == []


@pytest.mark.jax
def test_the_rows_lie_on_all_devices(tmp_path: Path) -> None:
    path = _converted(next(one for one in PROGRAMS if one.stem == "elementwise"), tmp_path)
    code = f"import runpy; print(len(runpy.run_path({str(path)!r})['doubled'].addressable_shards[0].data))"
    environment = {**os.environ, **numbers_of_programs.ENVIRONMENT}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "2\n"


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = _converted(next(one for one in PROGRAMS if one.stem == "haiku_dropout"), tmp_path)
    ran = meshlens("convert", f"{path.name}::main.update", "--to", "jit", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "place their data already" in ran.err
