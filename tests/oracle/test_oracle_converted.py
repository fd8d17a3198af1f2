"""Converts every pmap of the oracle programs that run, and runs the results: the same numbers, or a refusal."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import pytest

import numbers_of_programs
from meshlens.assists._everywhere import Outcome, convert_everywhere
from meshlens.assists._model import Wishes
from meshlens.assists._pmap import applications
from meshlens.assists._registry import assist_named
from meshlens.project.workspace import open_workspace
from oracle.rerun import Program, programs

LEAST = 0.85


def _runs(program: Program) -> bool:
    return bool(program.label["runs"]) and any(b"pmap" in file.read_bytes() for file in program.files)


RUNNING = [program for program in programs() if _runs(program)]


def _converted(program: Program, room: Path) -> tuple[Outcome, ...]:
    """Copies a program and converts the copy; says what became of its pmaps."""
    if program.is_package:
        shutil.copytree(program.main.parent, room)
    else:
        room.mkdir()
        shutil.copy(program.main, room / "main.py")
    files = sorted(room.rglob("*.py"))
    workspace = open_workspace([room], files=files)
    outcomes: tuple[Outcome, ...] = ()
    for file in files:
        done = convert_everywhere(workspace, file, assist_named("pmap-to-shard-map"), applications, Wishes())
        workspace, outcomes = done.workspace, outcomes + done.outcomes
        for path, source in done.sources.items():
            ast.parse(source)
            path.write_bytes(source)
    return outcomes


@pytest.mark.jax
@pytest.mark.parametrize("program", RUNNING, ids=lambda program: program.name)
def test_the_same_numbers(program: Program, tmp_path: Path) -> None:
    outcomes = _converted(program, tmp_path / "after")
    if all(outcome.refused for outcome in outcomes):
        return
    assert numbers_of_programs.differences(program.main, tmp_path / "after" / "main.py") == []


def test_most_are_converted(tmp_path: Path) -> None:
    found: list[Any] = [_converted(program, tmp_path / program.name) for program in RUNNING]
    outcomes = [outcome for one in found for outcome in one]
    refused = [outcome.refused.code for outcome in outcomes if outcome.refused is not None]
    assert len(refused) <= (1 - LEAST) * len(outcomes), refused
