"""Random edits in a real server: after each, its answers are those of a cold start; `bench/edits.py` runs more."""

from __future__ import annotations

import pytest

from bench.edits import run


@pytest.mark.deep
def test_answers_after_random_edits_are_those_of_a_cold_start():
    outcome = run(300, seed=1)
    assert not outcome.unequal, "\n".join(outcome.unequal)
    assert not outcome.log
