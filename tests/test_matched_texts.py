"""Patterns that the analysis matches against the names of a tree: they match what `re` does, and none is slow."""

from __future__ import annotations

import re

import pytest

from meshlens.axes.domain.constants import matched

PLAIN = [
    ".*",
    "norm/scale",
    "attention/(wq|wk|wv)/kernel",
    "^layers/[0-9]+/mlp/(up|down|gate)_proj$",
    "(?:bias|scale)$",
    r"block_\d+/.*/kernel",
    "a?b",
]
SLOW = ["(a+)+$", "(a|a)*b", "(?=a)a", r"(a)\1", "a{1,99}", "(a|a)" * 40 + "c", "a*a*a*a*a*b", "[[a]", "(" * 300]
NAMES = ["layers/0/attention/wq/kernel", "layers/12/mlp/up_proj", "norm/scale", "b", "block_3/attn/kernel", "a" * 60]


@pytest.mark.parametrize("how", ["search", "match", "fullmatch"])
@pytest.mark.parametrize("pattern", PLAIN)
def test_it_says_what_re_says(pattern: str, how: str) -> None:
    for name in NAMES:
        assert bool(matched(how, pattern, name)) is (getattr(re, how)(pattern, name) is not None)


@pytest.mark.parametrize("pattern", [*SLOW, "(", "*", "a" * 201])
def test_what_may_be_slow_or_is_no_pattern_is_not_tried(pattern: str) -> None:
    assert matched("search", pattern, "a" * 60) is None


def test_a_long_text_is_not_searched() -> None:
    assert matched("search", "a", "a" * 201) is None
