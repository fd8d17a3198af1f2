"""Completes the axis name of a new map, starting with unbound names that its operand uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.completing.completing import Completion, Place, axis_names
from meshlens.ide.completing.known_names import known_names
from meshlens.ide.completing.tokens import arguments_at
from meshlens.ide.completing.typed_operand import Operand, operand_at
from meshlens.ide.hovering.environment import function_in, function_site
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.view import FileView
from meshlens.text import Span

_CALL = re.compile(rf"\b(?:{'|'.join({row.name for row in COLLECTIVES.values()})})\s*(\()".encode())
_STRING = re.compile(rb"[\"'](\w+)[\"']")


def new_axis(place: Place) -> tuple[Completion, ...] | None:
    """Returns names for the axis of a map if the cursor is in its `axis_name`; otherwise None."""
    call = place.calls[0] if place.calls else None
    row = BINDERS.get(call.dotted) if call is not None else None
    if call is None or row is None or row.names_from != "axis_name":
        return None
    if call.parameter(row.parameters) != row.names:
        return None
    operand = operand_at(place, call, row)
    return axis_names(place, _names(place, operand))


def _names(place: Place, operand: Operand | None) -> Iterator[tuple[str, str]]:
    if operand is not None:
        words = f"used in {operand.name}" if operand.name else "used in the operand"
        for name in _unbound(place, operand):
            yield name, words
    yield from known_names(place.views).items()


def _unbound(place: Place, operand: Operand) -> Iterator[str]:
    for view, site in ((view, _site(view, operand)) for view in place.views):
        if site is None:
            continue
        for use in _uses(view):
            name = literal_name(use.name)
            if name and use.context.env.binder_of(name) is None and _runs_in(use, site):
                yield name
    if operand.text is not None:
        yield from _written(place.view.source, operand.text)


def _written(source: bytes, text: Span) -> Iterator[str]:
    """Yields the string literals in the axis arguments of collectives."""
    for call in _CALL.finditer(source, text.start, text.end):
        plain = 0
        for argument in arguments_at(source, call.start(1)):
            plain += argument.keyword is None
            if argument.keyword == "axis_name" or (argument.keyword is None and plain <= 2):
                for found in _STRING.finditer(source, argument.value.start, argument.value.end):
                    yield found[1].decode()


def _site(view: FileView, operand: Operand) -> Site | None:
    function = function_in(operand.value)
    if function is not None:
        return function.site
    return function_site(view, operand.name_span) if operand.name_span is not None else None


def _runs_in(use: AxisUse, function: Site) -> bool:
    return use.context.function == function or any(step.function == function for step in use.context.route)


def _uses(view: FileView) -> Iterator[AxisUse]:
    """Yields the uses of axes in this file, and those in other files on routes from this file's roots."""
    yield from view.records.uses
    for (path, _), result in view.solution.results.items():
        if path == str(view.path):
            yield from result.records.uses
