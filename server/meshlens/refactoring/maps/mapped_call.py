"""A visible call to a pmap at a cursor: its arguments, and the number of devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Arg, Const, Data, Dict, Made, Seq, Site, Value
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.runs.records import MappedCall
from meshlens.facts.nodes import NOTHING, Call
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import Span

_SLICE = re.compile(r"(?:\w+\.)?(?:local_)?devices\(\)\[:(\d+)\]")


@dataclass(frozen=True, slots=True)
class Handed:
    """A mapped argument of a call.

    Attributes:
        place: its position.
        span: the span of the expression.
        node: the expression.
        values: its possible values on all routes.
        pointed_at: whether the cursor is on it.
    """

    place: int
    span: Span
    node: Node
    values: tuple[Value, ...]
    pointed_at: bool

    def every(self, label: str) -> bool:
        """Returns whether the argument has a label on every route; for a container, one labeled part suffices."""
        return all(any(label in labels for labels in _labels(value)) for value in self.values)

    def some(self, label: str) -> bool:
        """Returns whether the argument, or a part of it, has a label on some route."""
        return any(label in labels for value in self.values for labels in _labels(value))

    @property
    def rows(self) -> set[int | None]:
        """Returns the possible sizes of the argument's first axis."""
        return {size for value in self.values for size in _rows(value)}


def mapped_call_at(view: FileView, span: Span) -> tuple[MappedCall, ...]:
    """Returns the records of the innermost call to a `jax.pmap` at a cursor; empty if there is none."""
    found: dict[Site, list[MappedCall]] = {}
    for call in view.records.mapped_calls:
        is_here = call.visible and view.is_here(call.call) and canonical(call.binder.dotted) == "jax.pmap"
        if is_here and view.span(call.call).contains(span):
            found.setdefault(call.call, []).append(call)
    innermost = min(found, key=lambda site: view.span(site).end - view.span(site).start, default=None)
    return tuple(found[innermost]) if innermost is not None else ()


def handed_over(view: FileView, calls: tuple[MappedCall, ...], span: Span) -> Iterator[Handed]:
    """Yields the positional and keyword arguments that are mapped over axis 0 on every route."""
    first = calls[0]
    path = path_to(view, first.call)
    node: Node = path[-1] if path else NOTHING
    if not isinstance(node, Call) or any(label in ("*", "**") for label, _, _ in node.arguments) or not first.exact:
        return
    for place, (label, whole, value) in enumerate(node.arguments):
        args = [call.args[place] for call in calls if place < len(call.args)]
        if len(args) != len(calls) or not all(
            _is_mapped(call, place, arg) for call, arg in zip(calls, args, strict=True)
        ):
            continue
        at = view.span(Site(first.call.path, first.call.block, whole))
        start = at.start if label is None else view.source.index(b"=", at.start) + 1
        yield Handed(place, Span(start, at.end), value, tuple(arg.value for arg in args), at.contains(span))


def device_count(view: FileView, call: MappedCall, spelling: Spelling) -> str:
    """Returns the number of devices that a map runs on, as code.

    Raises:
        Obstacle: the number cannot be determined.
    """
    given = call.binder.argument("devices")
    if given is None or (isinstance(given.value, Const) and given.value.value is None):
        size = call.binder.argument("axis_size")
        if size is not None and isinstance(size.value, Const) and type(size.value.value) is int:
            return str(size.value.value)
        return f"{spelling.of('jax', 'local_device_count')}()"
    found = _SLICE.fullmatch(view.text(given.site)) if given.site is not None else None
    if found is None:
        raise Obstacle("unknown-devices", "the number of devices of this pmap is unknown")
    return found[1]


def device_list(view: FileView, call: MappedCall, spelling: Spelling) -> str:
    """Returns the devices that a map runs on, as code.

    Raises:
        Obstacle: the devices cannot be determined.
    """
    count = device_count(view, call, spelling)
    if count.isdigit():
        return f"{spelling.of('jax', 'devices')}()[:{count}]"
    return f"{spelling.of('jax', 'local_devices')}()"


def _is_mapped(call: MappedCall, place: int, arg: Arg) -> bool:
    static = call.binder.argument("static_broadcasted_argnums")
    if static is not None:
        items = static.value.items if isinstance(static.value, Seq) else (static.value,)
        if not all(isinstance(item, Const) and item.value != place for item in items):
            return False
    axis = axis_of(call.binder, place, arg.label)
    return isinstance(axis, Const) and type(axis.value) is int and axis.value == 0


def _labels(value: Value) -> Iterator[frozenset[object]]:
    if isinstance(value, (Data, Made)):
        yield value.labels
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _labels(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from _labels(item)


def _rows(value: Value) -> Iterator[int | None]:
    if isinstance(value, Data) and value.shape:
        yield value.shape[0]
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _rows(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from _rows(item)
