"""Definition, references and highlights for axis names."""

from __future__ import annotations

import pytest

from cursors import opened, shown
from meshlens.ide.naming.definition import definition
from meshlens.ide.naming.highlight import highlights
from meshlens.ide.naming.references import references

TRAIN = """
import jax
from functools import partial

AXIS = "batch"

def sync(x, axis_name="batch"):
    return jax.lax.pmean(x, axis_name)

@partial(jax.pmap, axis_name=AXIS)
def step(x):
    return sync(x) + sync(x, "batch") + jax.lax.psum(x, "batch")

@partial(jax.vmap, axis_name="batch")
def other(x):
    return jax.lax.pmax(x, "batch")
"""


def _at(text: str, mark: str) -> tuple[object, object, int]:
    assert text.count(mark) == 1, mark
    return opened({"train.py": text.replace(mark, mark[:-1] + "$0" + mark[-1])})


def _definition(text: str, mark: str) -> list[str]:
    _, view, offset = _at(text, mark)
    return [shown(view, place.path, place.span) for place in definition(view, offset)]


def _references(text: str, mark: str) -> list[str]:
    _, view, offset = _at(text, mark)
    return [f"{shown(view, place.path, place.span)} {place.role}" for place in references(view, offset)]


@pytest.mark.parametrize(
    ("mark", "places"),
    [
        ('psum(x, "ba', ["train.py:10: AXIS"]),
        ('sync(x, "ba', ["train.py:10: AXIS"]),
        ("pmean(x, axis", ["train.py:10: AXIS"]),
        ("axis_name=AX", ['train.py:5: "batch"']),
        ('pmax(x, "ba', ['train.py:14: "batch"']),
        ('vmap, axis_name="ba', ['train.py:14: "batch"']),
        ("def step", []),
        ("return sync", []),
        ("psum", []),
    ],
)
def test_definition(mark, places):
    assert _definition(TRAIN, mark) == places


def test_references_are_those_of_one_axis_only():
    assert _references(TRAIN, 'psum(x, "ba') == [
        'train.py:5: "batch" names',
        'train.py:7: "batch" names',
        "train.py:8: axis_name uses",
        "train.py:10: AXIS binds",
        'train.py:12: "batch" names',
        'train.py:12: "batch" uses',
    ]
    assert _references(TRAIN, 'pmax(x, "ba') == ['train.py:14: "batch" binds', 'train.py:16: "batch" uses']


def test_highlights_say_what_binds_and_what_reads():
    _, view, offset = _at(TRAIN, 'pmax(x, "ba')
    assert [one.access for one in highlights(view, offset)] == ["write", "read"]


def test_broken_code_does_not_raise():
    for cut in range(0, len(TRAIN), 5):
        for text in (TRAIN[:cut] + "$0" + TRAIN[cut:], TRAIN[:cut] + "$0"):
            _, view, offset = opened({"train.py": text})
            definition(view, offset)
            references(view, offset)
            highlights(view, offset)
