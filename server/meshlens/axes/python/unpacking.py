"""Unpacking: tuples into targets, containers into their elements."""

from __future__ import annotations

from typing import Any

from meshlens.axes.data.operating import of_picked
from meshlens.axes.domain.joining import join_all, options
from meshlens.axes.domain.keys import as_value
from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import UNKNOWN, Class, Const, Data, Dict, Seq, Union, Value
from meshlens.axes.python.enums import members
from meshlens.facts.nodes import Starred


def unpack(value: Value, targets: tuple[Any, ...]) -> list[Value]:
    """Returns one value for each target of `a, *b, c = value`."""
    count = len(targets)
    if isinstance(value, Union):
        parts = [unpack(option, targets) for option in value.options]
        return [join_all(column) for column in zip(*parts, strict=True)]
    star = next((place for place, target in enumerate(targets) if isinstance(target, Starred)), None)
    if isinstance(value, Seq) and not value.open:
        items = list(value.items)
        if star is None:
            return items if len(items) == count else [join_all(items) if items else UNKNOWN] * count
        behind = count - star - 1
        if len(items) >= count - 1:
            middle = items[star : len(items) - behind]
            return [*items[:star], Seq("list", tuple(middle)), *items[len(items) - behind :]]
    inside = (join_all(value.items) if value.items else UNKNOWN) if isinstance(value, Seq) else element(value)
    return [Seq("list", (inside,), True) if isinstance(target, Starred) else inside for target in targets]


def element(value: Value) -> Value:
    """Returns a value that any element of a container may have."""
    if isinstance(value, Seq):
        return join_all(value.items) if value.items else UNKNOWN
    if isinstance(value, Dict):
        return join_all(as_value(key) for key, _ in value.items) if value.items and not value.open else UNKNOWN
    if isinstance(value, Data):
        made_by = value.made_by if value.made_by in ("jax.random.split", "jax.devices") else None
        labels = travelling(value.labels) | (
            value.labels & {"same"} | {"key"} if "keys" in value.labels else frozenset()
        )
        return Data(labels, value.shape[1:] if value.shape else None, made_by, over=of_picked(value, Const(0)))
    if isinstance(value, Union):
        return join_all(element(option) for option in value.options)
    return UNKNOWN


def elements(value: Value) -> tuple[list[Value], bool]:
    """Returns the elements that a loop iterates over, and whether they are exactly all of them."""
    if isinstance(value, Seq) and len(value.items) <= 16:
        return list(value.items), not value.open
    if isinstance(value, Dict) and not value.open and len(value.items) <= 16:
        return [as_value(key) for key, _ in value.items], True
    every = members(value) if isinstance(value, Class) else None
    if every is not None and len(every.items) <= 16:
        return list(every.items), True
    if isinstance(value, Const) and isinstance(value.value, str) and len(value.value) <= 8:
        return [Const(character) for character in value.value], True
    if len(options(value)) > 1:
        return [element(value)], False
    return [element(value)], False
