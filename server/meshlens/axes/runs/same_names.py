"""Equivalent names: one replaces the other in a repeated call or equals it in a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshlens.axes.domain.values import Const, Dict, Seq, Value
from meshlens.axes.runs.records import SameName
from meshlens.axes.runs.run import Run


def names_given(values: Iterable[Value]) -> tuple[Const, ...]:
    """Returns the strings among the arguments of a call, in order."""
    return tuple(name for value in values if type(value) in _HOLD_NAMES for name in _strings(value))


def note_repeated(run: Run, first: tuple[Const, ...], again: tuple[Const, ...]) -> None:
    """Notes the names in a call that was not run again because an equal call had already run."""
    for one, other in zip(first, again, strict=False):
        if one.origin != other.origin or one.via != other.via:
            run.records.same_names.append(SameName(one, other))


def note_compared(run: Run, operator: str, items: list[Value]) -> None:
    """Notes that a comparison found two names equal."""
    left, right = items
    if not isinstance(left, Const) or not isinstance(left.value, str):
        return
    others = right.items if isinstance(right, Seq) and operator in ("in", "not in") else (right,)
    for other in others:
        if isinstance(other, Const) and other == left and other.origin != left.origin:
            run.records.same_names.append(SameName(left, other))


_HOLD_NAMES = frozenset({Const, Seq, Dict})


def _strings(value: Value) -> Iterator[Const]:
    if isinstance(value, Const):
        if isinstance(value.value, str):
            yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _strings(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from _strings(item)
