"""Obstacles to a rename: names that are not literals, unseen binders, names already in use."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Binder
from meshlens.axes.jax.naming import names_in
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.naming.occurrences import Place, place_of
from meshlens.project.axis_symbols import AxisSymbol
from meshlens.project.view import FileView
from meshlens.project.writing.literals import is_string

_WITH_ESCAPES = re.compile(r"[uU]?(['\"])(?:\\.|(?!\1)[^\\])*\1")

Block = tuple[str, tuple[Place, ...]]


def blocking(view: FileView, symbol: AxisSymbol) -> Block | None:
    """Returns why an axis cannot be renamed at all, and where; None if it can."""
    for site in sorted(symbol.unwritten):
        return f'the name "{symbol.name}" comes from outside the workspace here', (place_of(view, site),)
    for site in sorted(symbol.literals):
        text = view.text(site)
        if not is_string(text):
            return f'the name "{symbol.name}" is {_how(text)} here', (place_of(view, site),)
    for use in symbol.uses:
        if not symbol.binders and use.context.env.open:
            return f'an unknown caller may bind "{symbol.name}" here', (place_of(view, use.call),)
    return None


def captured(view: FileView, symbol: AxisSymbol, new_name: str) -> Block | None:
    """Returns a conflict, if the new name is already bound, used, or in a mesh together with this axis."""
    for use in symbol.uses:
        other = use.context.env.binder_of(new_name)
        if other is not None and use.context.env.binder_of(symbol.name) is not None:
            places = (place_of(view, other.site), place_of(view, use.call))
            return f'"{new_name}" is already bound where "{symbol.name}" is used', places
    for mesh in symbol.meshes:
        if any(name.value == new_name for value in mesh.names for name in names_in(value)[0]):
            return f'the mesh already has an axis "{new_name}"', (place_of(view, mesh.site),)
    ours = set(symbol.binders)
    for records in view.solution.by_file.values():
        for use in records.uses:
            if literal_name(use.name) == new_name and _is_under(use, symbol, ours):
                return f'"{new_name}" is used where "{symbol.name}" is bound', (place_of(view, use.call),)
    return None


def _how(text: str) -> str:
    if _WITH_ESCAPES.fullmatch(text):
        return "written with an escape sequence"
    return "concatenated" if text[0] in "\"'" and text[-1] in "\"'" else "computed"


def _is_under(use: AxisUse, symbol: AxisSymbol, ours: set[Binder]) -> bool:
    return any(bound.name == symbol.name and bound.binder in ours for bound in use.context.env.bound)
