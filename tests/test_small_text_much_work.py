"""A program of 2 KB takes little time and at most 300 MiB, whatever it contains, and hides nothing elsewhere.

`tests/bench/hostile.py` limits it to 2 CPU seconds; here, beside other tests on any machine, only a hang fails.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

import depth
from depth import examples
from hostile_grammar import program
from hostile_seeds import SEEDS
from limited_checks import ARGUMENTS, Checks, failure, limited_checks
from small_programs import MOST_BYTES, PLANTED, checked, minimized, size, write_project

pytestmark = pytest.mark.slow

_HANG = 10.0


@pytest.fixture(scope="module")
def checks() -> Iterator[Checks]:
    with limited_checks() as asked:
        yield asked


@pytest.mark.parametrize("name", depth.some([*SEEDS], 12))
def test_a_small_program_takes_little_and_hides_nothing(name: str, checks: Checks) -> None:
    assert size(SEEDS[name]) <= MOST_BYTES
    wrong, ran = checked(SEEDS[name], checks, _HANG)
    assert not wrong, ran


# Shrinking would check thousands of programs that run into the limits; a failing program is small anyway.
@settings(max_examples=examples(60), derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(random=st.randoms(use_true_random=False))
def test_a_generated_program_takes_little_and_hides_nothing(checks: Checks, random: Random) -> None:
    text = program(random)
    note(text)
    assert size(text) <= MOST_BYTES
    wrong, ran = checked(text, checks, _HANG)
    assert not wrong, ran


def test_the_same_seed_writes_the_same_program() -> None:
    assert program(Random("1:7")) == program(Random("1:7"))
    assert len({program(Random(f"1:{number}")) for number in range(50)}) == 50


@pytest.mark.parametrize("name", ["tuples multiplied", "files that import each other", "errors everywhere"])
def test_a_forked_check_says_what_the_command_says(name: str, checks: Checks, tmp_path: Path) -> None:
    write_project(SEEDS[name], tmp_path)
    command = [sys.executable, "-m", "meshlens", *ARGUMENTS]
    real = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    forked = checks.check(tmp_path)
    assert (forked.status, forked.out, forked.err) == (real.returncode, real.stdout, real.stderr)


def test_what_goes_wrong_is_noticed(checks: Checks, tmp_path: Path) -> None:
    write_project(SEEDS["packages"], tmp_path)
    right = checks.check(tmp_path)
    assert failure(right, PLANTED) == ""
    assert failure(right, "another.py") == "planted finding lost"
    assert failure(replace(right, cpu=2.1), PLANTED) == "time"
    assert failure(replace(right, resident=301), PLANTED) == "memory"
    assert failure(replace(right, status=-11), PLANTED) == "signal 11"
    assert failure(replace(right, err="Traceback (most recent call last):"), PLANTED) == "internal error"
    (tmp_path / PLANTED).unlink()
    assert failure(checks.check(tmp_path), PLANTED) in ("exit code 0", "planted finding lost")
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    (tmp_path / "meshlens.toml").write_text("what = [")
    assert failure(checks.check(tmp_path), PLANTED) == "exit code 2"


def test_lines_that_a_failure_does_not_need_are_removed() -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    assert minimized(text, lambda left: "line 7\n" in left and "line 31\n" in left) == "line 7\nline 31\n"
