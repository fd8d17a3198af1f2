"""Finds the axis name at the cursor if it comes from a package outside the workspace, and describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Binder, Ext, Site
from meshlens.ide.hovering.prose import as_text
from meshlens.ide.target import sites_at
from meshlens.project.jedi_bridge import Found
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class OutsideAxis:
    """An expression that gives an axis name.

    Attributes:
        span: the expression.
        dotted: the origin of the name: `package.constants.AXIS`.
    """

    span: Span
    dotted: str


def outside_axis(view: FileView, offset: int) -> OutsideAxis | None:
    """Returns the axis name at the cursor, if it comes from a package outside the workspace.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    given = dict(_given(view))
    if not given:
        return None
    for site in sites_at(view, offset):
        if site in given:
            return OutsideAxis(view.span(site), given[site])
    return None


def _given(view: FileView) -> Iterator[tuple[Site, str]]:
    """Yields the expressions in a file that give axis names from other packages, with the origin of each name."""
    path = str(view.path)
    for use in view.records.uses:
        if isinstance(use.name, Ext) and use.axis is not None and use.axis.path == path:
            yield use.axis, use.name.dotted
    binders = [binding.binder for binding in view.records.bindings]
    binders += [mapped.binder for mapped in view.records.mapped_calls]
    for binder in binders:
        yield from _of_binder(binder, path)


def _of_binder(binder: Binder, path: str) -> Iterator[tuple[Site, str]]:
    for parameter in ("axis_name", "axis_names"):
        arg = binder.argument(parameter)
        if arg is not None and isinstance(arg.value, Ext) and arg.site is not None and arg.site.path == path:
            yield arg.site, arg.value.dotted


def outside_text(axis: OutsideAxis, found: Found) -> str:
    """Returns the description of an axis name from a package, in Markdown that is also readable as plain text.

    Args:
        axis: the expression.
        found: the place of its definition.
    """
    many = "Axis names" if len(found.names) > 1 else "Axis name"
    names = ", ".join(f'"{as_text(name)}"' for name in found.names) or axis.dotted
    return (
        f"{many} {names}.\n\nDefined on line {found.line} of {as_text(found.path.name)} in {axis.dotted.split('.')[0]}."
    )
