"""Unpacking: tuples into targets, containers into their elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.data.coordinates import each_size
from meshlens.axes.data.operating import of_picked
from meshlens.axes.domain.joining import join_all
from meshlens.axes.domain.keys import SOME_KEY, as_value
from meshlens.axes.domain.labels import INTEGERS, travelling
from meshlens.axes.domain.values import UNKNOWN, Class, Const, Data, Dict, Made, Seq, Union, Value
from meshlens.axes.python.enums import members
from meshlens.facts.nodes import Starred

_MOST_ROWS = 16
_MOST_PAIRS = 64
_OF_ROWS = frozenset({INTEGERS})
_MOST_KEYS = 8
"""Maximum number of keys over which a loop runs key by key."""


def unpack(value: Value, targets: tuple[Any, ...]) -> list[Value]:
    """Returns one value for each target of `a, *b, c = value`."""
    count = len(targets)
    if isinstance(value, Union):
        parts = [unpack(option, targets) for option in value.options]
        return [join_all(column) for column in zip(*parts, strict=True)]
    star = next((place for place, target in enumerate(targets) if isinstance(target, Starred)), None)
    items = items_of(value) or (each_size(value, count) if star is None else None)
    if items is not None:
        if star is None:
            return items if len(items) == count else [join_all(items) if items else UNKNOWN] * count
        behind = count - star - 1
        if len(items) >= count - 1:
            middle = items[star : len(items) - behind]
            return [*items[:star], Seq("list", tuple(middle)), *items[len(items) - behind :]]
    inside = (join_all(value.items) if value.items else UNKNOWN) if isinstance(value, Seq) else element(value)
    return [Seq("list", (inside,), True) if isinstance(target, Starred) else inside for target in targets]


def items_of(value: Value) -> list[Value] | None:
    """Returns all items of a sequence, or of an array with few rows; None if they are not known one by one."""
    if isinstance(value, Seq):
        return list(value.items) if not value.open else None
    if isinstance(value, Const) and isinstance(value.value, str) and len(value.value) <= _MOST_ROWS:
        return [Const(character) for character in value.value]
    rows = value.shape[0] if isinstance(value, Data) and value.shape else None
    if rows is None or rows > _MOST_ROWS:
        return None
    row = element(value)
    # Each row is a value of its own: the same value twice would count as a copy.
    return [replace(row) for _ in range(rows)] if isinstance(row, Data) else None


def element(value: Value) -> Value:
    """Returns a value that covers every element of a container."""
    if isinstance(value, Seq):
        return join_all(value.items) if value.items else UNKNOWN
    if isinstance(value, Dict):
        return join_all(as_value(key) for key, _ in value.items) if value.items and not value.open else UNKNOWN
    if isinstance(value, Data):
        made_by = value.made_by if value.made_by in ("jax.random.split", "jax.devices") else made_of_row(value)
        labels = travelling(value.labels) | (
            value.labels & {"same"} | {"key"} if "keys" in value.labels else value.labels & _OF_ROWS
        )
        return Data(labels, value.shape[1:] if value.shape else None, made_by, over=of_picked(value, Const(0)))
    if isinstance(value, Union):
        return join_all(element(option) for option in value.options)
    return UNKNOWN


def made_of_row(value: Data) -> str | None:
    """Returns the function of JAX whose result a row is a part of, and so an array of JAX, even without dimensions."""
    return value.made_by if value.shape and (value.made_by or "").startswith("jax.numpy.") else None


def _is_pair(value: Value) -> bool:
    """Returns whether a value is a row of a table of rules: a pattern or a name, and what it stands for."""
    return (
        isinstance(value, Seq)
        and not value.open
        and len(value.items) == 2
        and isinstance(value.items[0], (Const, Made))
    )


def elements(value: Value) -> tuple[list[Value], bool]:
    """Returns the elements that a loop iterates over, and whether the list is exact."""
    most_keys = _MOST_PAIRS if isinstance(value, Dict) and value.get(SOME_KEY) is not None else _MOST_KEYS
    if isinstance(value, Dict) and value.open and 0 < len(value.items) <= most_keys:
        return [as_value(key) for key, _ in value.items], False
    # The last pair may stand for those with unknown keys.
    pairs = value.items[: -1 if value.open and len(value.items) > 1 else None] if isinstance(value, Seq) else ()
    most = _MOST_PAIRS if pairs and all(map(_is_pair, pairs)) else _MOST_ROWS
    if isinstance(value, Seq) and len(value.items) <= most:
        return list(value.items), not value.open
    if isinstance(value, Dict) and not value.open and len(value.items) <= _MOST_ROWS:
        return [as_value(key) for key, _ in value.items], True
    every = members(value) if isinstance(value, Class) else None
    if every is not None and len(every.items) <= _MOST_ROWS:
        return list(every.items), True
    if isinstance(value, Const) and isinstance(value.value, str) and len(value.value) <= 8:
        return [Const(character) for character in value.value], True
    keys = items_of(value) if isinstance(value, Data) and "keys" in value.labels else None
    if keys is not None and len(keys) <= _MOST_KEYS:
        return keys, True
    return [element(value)], False
