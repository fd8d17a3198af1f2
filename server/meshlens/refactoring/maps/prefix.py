"""The known `in_axes` and `out_axes`, written as axes or as specs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from meshlens.axes.domain.values import Const, Dict, Seq, Value


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple or list of prefixes."""

    kind: str
    items: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """A dictionary of prefixes."""

    items: tuple[tuple[object, Prefix], ...]


Prefix: TypeAlias = "int | Items | Entries | None"


class Unknown(Exception):
    """Part of a prefix is unknown or invalid in JAX."""


def prefix_of(value: Value) -> Prefix:
    """Returns the prefix that a value describes.

    Raises:
        Unknown: part of it is unknown, or `pmap` does not accept it.
    """
    if isinstance(value, Const):
        if value.value is None:
            return None
        if type(value.value) is int and value.value >= 0:
            return value.value
    elif isinstance(value, Seq) and value.kind in ("tuple", "list") and not value.open:
        return Items(value.kind, tuple(prefix_of(item) for item in value.items))
    elif isinstance(value, Dict) and not value.open:
        return Entries(tuple((key, prefix_of(item)) for key, item in value.items))
    raise Unknown


def axes_text(prefix: Prefix) -> str:
    """Returns axes such as `(0, None)`."""
    return _written(prefix, repr)


def specs_text(prefix: Prefix, spec: str, axis: str) -> str:
    """Returns specs such as `(P("batch"), P())`.

    Args:
        prefix: the axes.
        spec: the file's name for PartitionSpec.
        axis: the source of the axis name.
    """

    def leaf(place: int | None) -> str:
        return f"{spec}()" if place is None else f"{spec}({'None, ' * place}{axis})"

    return _written(prefix, leaf)


def _written(prefix: Prefix, leaf: Callable[[int | None], str]) -> str:
    if isinstance(prefix, Items):
        inside = ", ".join(_written(item, leaf) for item in prefix.items)
        if prefix.kind == "list":
            return f"[{inside}]"
        return f"({inside},)" if len(prefix.items) == 1 else f"({inside})"
    if isinstance(prefix, Entries):
        return "{" + ", ".join(f"{_key(key)}: {_written(item, leaf)}" for key, item in prefix.items) + "}"
    return leaf(prefix)


def _key(key: object) -> str:
    return '"' + key + '"' if isinstance(key, str) and '"' not in key and "\\" not in key else repr(key)
