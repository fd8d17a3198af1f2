"""Collectives with the axis name in place of the value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Const, Data, Site
from meshlens.axes.runs.records import AxisUse
from meshlens.checking.model import Finding, Fix
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit


def swapped_arguments(view: FileView) -> Iterator[Finding]:
    """Reports each collective whose value is a string on every route."""
    by_call: dict[Site, list[AxisUse]] = defaultdict(list)
    for use in view.records.uses:
        by_call[use.call].append(use)
    for call, uses in by_call.items():
        value = _text(uses[0])
        if value is None or not view.is_here(call) or any(_text(use) is None for use in uses):
            continue
        if any(use.context.guarded or use.context.expected or not use.context.sure for use in uses):
            continue
        assert value.site is not None and isinstance(value.value, Const)
        message = f'{uses[0].kind} takes the value first, but this is the string "{value.value.value}"'
        yield Finding(view.span(value.site), message, _fixes(view, uses[0], value))


def _text(use: AxisUse) -> Arg | None:
    """Returns the operand of a collective if it is a string and the axis argument is an array."""
    row = COLLECTIVES.get(f"jax.lax.{use.kind}")
    if row is None or row.operand is None or not isinstance(use.name, Data):
        return None
    given = dict(use.arguments).get(row.operand)
    if given is None or given.site is None:
        return None
    return given if isinstance(given.value, Const) and isinstance(given.value.value, str) else None


def _fixes(view: FileView, use: AxisUse, value: Arg) -> tuple[Fix, ...]:
    axis = dict(use.arguments).get("axis_name")
    if axis is None or axis.site is None or value.site is None or axis.label is not None or value.label is not None:
        return ()
    if not view.is_here(axis.site) or not view.is_here(value.site):
        return ()
    edits = (
        FileEdit(view.path, Edit(view.span(value.site), view.text(axis.site))),
        FileEdit(view.path, Edit(view.span(axis.site), view.text(value.site))),
    )
    return (Fix("swap the arguments", edits),)
