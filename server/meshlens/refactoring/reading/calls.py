"""Calls of a function as a map needs them: every argument by position."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, Use, line_of
from meshlens.text import Edit, FileEdit, Span

_KEYWORD = re.compile(rb"\w+\s*=\s*")


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call that hands over its arguments in the order of the parameters.

    Attributes:
        use: the place.
        values: the arguments, without the names that some are given by.
        spans: where each stands, with its name.
    """

    use: Use
    values: tuple[Node, ...]
    spans: tuple[Span, ...]

    @property
    def whole(self) -> Site:
        """The call itself."""
        assert self.use.call is not None
        return Site(self.use.site.path, self.use.site.block, self.use.call.site)


def plain_call(view: FileView, target: Target, use: Use) -> PlainCall:
    """A call read so that it can be given to a map.

    Raises:
        Obstacle: the function is handed on there, or arguments are given in another way than by position or in order.
    """
    line = line_of(view, use.site)
    if use.call is None:
        raise Obstacle("used-as-value", f'line {line} hands "{view.text(use.site)}" on instead of calling it')
    given = use.call.arguments
    names = [parameter.name for parameter in target.parameters[: len(given)]]
    if len(names) < len(given):
        raise Obstacle("several-counts", f'the call in line {line} passes more arguments than "{target.name}" has')
    for name, (label, _, _) in zip(names, given, strict=True):
        if label is not None and label != name:
            raise Obstacle("keyword-arguments", f"the call in line {line} passes arguments by keyword")
    spans = tuple(view.span(Site(use.site.path, use.site.block, whole)) for _, whole, _ in given)
    return PlainCall(use, tuple(value for _, _, value in given), spans)


def wrapped(view: FileView, call: PlainCall, place: int, function: str) -> tuple[FileEdit, ...]:
    """Edits after which an argument of a call goes through a function, and is given by position.

    Args:
        view: the file.
        call: the call.
        place: which argument.
        function: the name of the function; "" for the argument as it is.
    """
    span = call.spans[place]
    found = _KEYWORD.match(view.source, span.start, span.end) if _label(call, place) is not None else None
    start = found.end() if found is not None else span.start
    if not function:
        return (FileEdit(view.path, Edit(Span(span.start, start), "")),) if start > span.start else ()
    return (
        FileEdit(view.path, Edit(Span(span.start, start), f"{function}(")),
        FileEdit(view.path, Edit(Span(span.end, span.end), ")")),
    )


def _label(call: PlainCall, place: int) -> str | None:
    assert call.use.call is not None
    label: str | None = call.use.call.arguments[place].label
    return label
