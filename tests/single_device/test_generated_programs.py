"""Generated training programs: after conversion they print the numbers that they printed before, on eight devices.

`python tests/bench/converted_programs.py` does the same with any number of programs.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.converted_programs import TARGETS, Remembered, measure
from programs_run import Runner
from training_programs import choices_of, program

SEEDS = range(10)


@pytest.fixture(scope="module")
def runner() -> Iterator[Remembered]:
    process = Runner()
    yield Remembered(process, None)
    process.close()


@pytest.mark.jax
@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS)
def test_a_converted_program_prints_the_same(seed: int, tmp_path: Path, runner: Remembered) -> None:
    assert [(one.target, one.wrong) for one in measure(seed, TARGETS, tmp_path, runner) if one.wrong] == []


def test_programs_differ_and_parse() -> None:
    made = [program(seed) for seed in range(300)]
    assert len({tuple(one.files.values()) for one in made}) == len(made)
    for one in made:
        for text in one.files.values():
            ast.parse(text)
    assert program(7) == program(7)


def test_every_kind_of_model_is_drawn() -> None:
    kinds = Counter(choices_of(seed).model for seed in range(300))
    assert len(kinds) == 7
    assert min(kinds.values()) > 15
