"""Calls to a function in the form that a map needs: every argument by position."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Expressions
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, Use, line_of
from meshlens.text import Edit, FileEdit, Span

_KEYWORD = re.compile(rb"\w+\s*=\s*")


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call whose arguments are in the order of the parameters.

    Attributes:
        use: the reference to the function.
        values: the arguments, without keywords.
        spans: the span of each argument, including its keyword.
    """

    use: Use
    values: Expressions
    spans: tuple[Span, ...]

    @property
    def whole(self) -> Site:
        """Returns the site of the call."""
        assert self.use.call is not None
        return Site(self.use.site.path, self.use.site.block, self.use.call.site)


def plain_call(view: FileView, target: Target, use: Use) -> PlainCall:
    """Returns a call in the form that a map needs.

    Raises:
        Obstacle: the function is passed as an argument and not called, or an argument cannot be passed by position.
    """
    line = line_of(view, use.site)
    if use.call is None:
        raise Obstacle("used-as-value", f'line {line} uses "{view.text(use.site)}" as a value instead of calling it')
    given = use.call.arguments
    names = [parameter.name for parameter in target.parameters[: len(given)]]
    if len(names) < len(given):
        raise Obstacle("several-counts", f'the call on line {line} passes more arguments than "{target.name}" takes')
    for name, (label, _, _) in zip(names, given, strict=True):
        if label in ("*", "**"):
            raise Obstacle("keyword-arguments", f"a splat hides arguments on line {line}")
        if label is not None and label != name:
            message = f"the call on line {line} passes keyword arguments out of order; pass them by position"
            raise Obstacle("keyword-arguments", message)
    spans = tuple(view.span(Site(use.site.path, use.site.block, whole)) for _, whole, _ in given)
    return PlainCall(use, tuple(value for _, _, value in given), spans)


def without_labels(view: FileView, call: PlainCall) -> tuple[FileEdit, ...]:
    """Returns the edits that pass every argument of a call by position."""
    pairs = ((span.start, value_start(view, call, place)) for place, span in enumerate(call.spans))
    return tuple(FileEdit(view.path, Edit(Span(start, end), "")) for start, end in pairs if end > start)


def value_start(view: FileView, call: PlainCall, place: int) -> int:
    """Returns the offset at which an argument's value begins, after the keyword if there is one."""
    span = call.spans[place]
    found = _KEYWORD.match(view.source, span.start, span.end) if _label(call, place) is not None else None
    return found.end() if found is not None else span.start


def _label(call: PlainCall, place: int) -> str | None:
    assert call.use.call is not None
    return call.use.call.arguments[place].label
