"""Compares a tree prefix (`in_axes`, `in_specs`, `out_specs`) with the values it applies to."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.data.arrays import is_array
from meshlens.axes.domain.values import Dict, Seq, Value


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A place where a prefix does not fit.

    Attributes:
        path: positions of the entries that lead there, outermost first.
        given: the prefix in words, such as "2 entries".
        wanted: the value in words, such as "3 values" or "one array".
        missing: keys of the value that the prefix lacks.
    """

    path: tuple[int, ...]
    given: str
    wanted: str
    missing: tuple[str, ...] = ()


def mismatch(prefix: Value, value: Value, path: tuple[int, ...] = ()) -> Mismatch | None:
    """Returns the first place where a prefix certainly does not fit a value; None if it fits or is unknown.

    Ignores lists, because items may have been appended later.
    """
    if isinstance(prefix, Seq) and prefix.kind == "tuple":
        return None if prefix.open else _sequence(prefix, value, path)
    if isinstance(prefix, Dict) and not prefix.open:
        return _dictionary(prefix, value, path)
    return None


def _sequence(prefix: Seq, value: Value, path: tuple[int, ...]) -> Mismatch | None:
    entries = _entries(len(prefix.items))
    if is_array(value):
        return Mismatch(path, entries, "one array")
    if isinstance(value, Dict):
        return Mismatch(path, entries, "a dictionary")
    if not isinstance(value, Seq) or value.open or value.kind != "tuple":
        return None
    if len(value.items) != len(prefix.items):
        return Mismatch(path, entries, f"{len(value.items)} value" + ("s" if len(value.items) != 1 else ""))
    for place, (one, other) in enumerate(zip(prefix.items, value.items, strict=True)):
        found = mismatch(one, other, (*path, place))
        if found is not None:
            return found
    return None


def _dictionary(prefix: Dict, value: Value, path: tuple[int, ...]) -> Mismatch | None:
    if is_array(value):
        return Mismatch(path, "a dictionary", "one array")
    if not isinstance(value, Dict) or value.open:
        return None
    have, want = dict(prefix.items), dict(value.items)
    missing = tuple(str(key) for key in want if key not in have)
    surplus = [str(key) for key in have if key not in want]
    if missing:
        return Mismatch(path, "no key " + ", ".join(f'"{key}"' for key in missing), "it", missing)
    if surplus:
        return Mismatch(path, "a key " + ", ".join(f'"{key}"' for key in surplus), "no such key")
    for place, (key, one) in enumerate(prefix.items):
        found = mismatch(one, want[key], (*path, place))
        if found is not None:
            return found
    return None


def _entries(count: int) -> str:
    return f"{count} " + ("entry" if count == 1 else "entries")
