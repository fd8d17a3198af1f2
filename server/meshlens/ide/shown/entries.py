"""The entries of a file: functions that need no arguments and return another function with its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.facts.nodes import FunctionDef, FunctionShape, ListDisplay, Return, TupleDisplay, With
from meshlens.project.view import FileView
from meshlens.text import Span

_NOT_PASSED = frozenset({"*", "**"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that can be traced.

    Attributes:
        name: its name.
        span: the span of the name.
    """

    name: str
    span: Span


def entries(view: FileView, named: frozenset[str] = frozenset()) -> tuple[Entry, ...]:
    """Returns the entries of a file, in order.

    Args:
        view: the file.
        named: the names of functions that the configuration lists as entries.
    """
    found = []
    for key, shape in _functions(view):
        if shape.name in named or _is_entry(shape):
            found.append(Entry(shape.name, view.facts.span(key, shape.site)))
    return tuple(sorted(found, key=lambda entry: entry.span))


def function_around(view: FileView, offset: int) -> Entry | None:
    """Returns the top-level function around an offset."""
    for key, shape in _functions(view):
        if view.facts.span(key, 0).start <= offset <= view.facts.blocks[key].end:
            return Entry(shape.name, view.facts.span(key, shape.site))
    return None


def _functions(view: FileView) -> Iterator[tuple[str, FunctionShape]]:
    for key in view.facts.top:
        shape = view.facts.blocks[key].shape
        if isinstance(shape, FunctionDef):
            yield key, shape.function


def _is_entry(shape: FunctionShape) -> bool:
    """Returns whether a function needs no argument and ends with `return function, (argument, …)`."""
    needed = [one for one in shape.parameters if one.default is None and one.how not in _NOT_PASSED and one.name]
    last = shape.body[-1] if shape.body else None
    while isinstance(last, With):
        last = last.body[-1]
    return not needed and isinstance(last, Return) and _is_function_and_arguments(last.value)


def _is_function_and_arguments(value: object) -> bool:
    return (
        isinstance(value, TupleDisplay)
        and len(value.items) in (2, 3)
        and isinstance(value.items[1], (TupleDisplay, ListDisplay))
    )
