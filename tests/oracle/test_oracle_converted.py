"""Converts every pmap of the oracle programs that run, and runs the results: the same numbers, or a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

import depth
from oracle.converted import LABELLED, compared, converted, installed, with_pmap
from oracle.rerun import Program

LEAST = 0.85
PROGRAMS = with_pmap()


@pytest.mark.jax
@pytest.mark.parametrize("program", depth.some(PROGRAMS, 30), ids=lambda program: program.name)
def test_the_same_numbers(program: Program, tmp_path: Path) -> None:
    found = compared(program, tmp_path / "after")
    if installed() == LABELLED:
        assert found.runs is bool(program.label["runs"])
    assert found.differences == ()


def test_most_are_converted(tmp_path: Path) -> None:
    running = [program for program in PROGRAMS if program.label["runs"]]
    outcomes = [one for program in running for one in converted(program, tmp_path / program.name)]
    refused = [one.refused.code for one in outcomes if one.refused is not None]
    assert len(refused) <= (1 - LEAST) * len(outcomes), refused
