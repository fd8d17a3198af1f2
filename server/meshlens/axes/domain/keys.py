"""Keys of dictionaries: constants, members of enums, classes, and tuples of constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshlens.axes.domain.joining import join_all
from meshlens.axes.domain.values import UNKNOWN, Class, Const, Dict, Ext, Function, Made, Seq, Value

SOME_KEY = Ext("meshlens.some_key")
"""Stands for all unknown keys of an open dictionary; its value covers the values of all these entries."""


STEPS = {
    "key": "jax.tree_util.DictKey",
    "idx": "jax.tree_util.SequenceKey",
    "name": "jax.tree_util.GetAttrKey",
}
"""The class of a step of a path to a leaf of a tree, by the name of its attribute."""


def key_of(value: Value) -> tuple[Any] | None:
    """Returns the dictionary key for a value, in a 1-tuple because None is also a key; None if unknown."""
    if isinstance(value, Const):
        return (value.value,)
    if isinstance(value, Made):
        return (value,) if value.dotted == "enum.Enum" else None
    if isinstance(value, (Class, Function)):
        return (value,)
    if isinstance(value, Seq) and value.kind == "tuple" and not value.open:
        parts = [item.value for item in value.items if isinstance(item, Const)]
        return (tuple(parts),) if len(parts) == len(value.items) else None
    return None


def as_value(key: object) -> Value:
    """Returns the value of a dictionary key."""
    if key is SOME_KEY:
        return UNKNOWN
    if isinstance(key, (Made, Class, Function)):
        return key
    return Seq("tuple", tuple([Const(part) for part in key])) if isinstance(key, tuple) else Const(key)


def with_some_keys(entries: Iterable[tuple[Any, Value]], others: list[Value]) -> Dict:
    """Returns a dictionary with known entries, and others under unknown keys."""
    known = tuple(entries)
    return Dict((*known, (SOME_KEY, join_all(others))), True) if others else Dict(known, True)
