"""The thoroughness of the tests: enough after an edit by default, more in `nox`, and complete with `pytest --deep`.

`slow` marks tests that `nox` runs and plain `pytest` does not, `deep` those that only `--deep` selects; `examples`
reduces the examples of property tests, and `some` marks all but a sample as deep.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

VARIABLE = "MESHLENS_TESTS_DEEP"
QUICK = "not slow and not deep and not jax and not editors"
DEEP = "not jax and not editors"


def is_deep() -> bool:
    """Returns true if this run was started with `--deep`; workers inherit the answer."""
    return os.environ.get(VARIABLE) == "1"


def examples(most: int) -> int:
    """Returns how many examples a property test draws: all of them with `--deep`, otherwise a tenth."""
    return most if is_deep() else max(5, most // 10)


def some(values: Sequence[Any], quick: int) -> list[Any]:
    """Returns the values as parameters, with the mark `deep` on all but `quick` of them, which are evenly spread.

    A tuple holds one value for each argument, as in `parametrize`.
    """
    kept = {number * len(values) // quick for number in range(min(quick, len(values)))}
    return [_parameter(value, number not in kept) for number, value in enumerate(values)]


def _parameter(value: Any, is_left_out: bool) -> Any:
    marks = (pytest.mark.deep,) if is_left_out else ()
    if hasattr(value, "values") and hasattr(value, "marks"):
        return pytest.param(*value.values, id=value.id, marks=(*value.marks, *marks))
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)
