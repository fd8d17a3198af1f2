"""One color per axis name of a workspace, and the places of the names in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from meshlens.ide.completing.known_names import names_of_workspace
from meshlens.project.axis_symbols import axis_symbols
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

COLORS = 6
"""Number of colors; if there are more names than colors, some names share a color."""


class ColoredName(NamedTuple):
    """An axis name in a file.

    Attributes:
        span: the string or expression with the name.
        name: the axis name.
        color: the number of its color, from 0.
    """

    span: Span
    name: str
    color: int


def axis_colors(solution: Solution) -> Mapping[str, int]:
    """Returns the color number of each axis name; adding a name rarely changes the colors of the others."""
    return solution.once("ide: axis colors", _colors)


def _colors(solution: Solution) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in sorted(names_of_workspace(solution)):
        first = crc32(name.encode("utf-8", "replace")) % COLORS
        free = ((first + step) % COLORS for step in range(COLORS))
        taken = set(found.values()) if len(found) < COLORS else set()
        found[name] = next((color for color in free if color not in taken), first)
    return found


def colored_names(view: FileView) -> tuple[ColoredName, ...]:
    """Returns the axis names in a file, in order, without expressions that give several names."""
    colors = axis_colors(view.solution)
    found: dict[Span, ColoredName] = {}
    for site, nodes in axis_symbols(view.solution).at.items():
        names = {name for _, name in nodes}
        if not view.is_here(site) or len(names) != 1:
            continue
        name = names.pop()
        span = view.span(site)
        if name in colors and b"\n" not in view.source[span.start : span.end]:
            found[span] = ColoredName(span, name, colors[name])
    return tuple(one for span, one in sorted(found.items()) if not _holds_another(span, found))


def _holds_another(span: Span, found: Mapping[Span, ColoredName]) -> bool:
    """Returns whether a smaller expression inside this one has its own color."""
    return any(other != span and span.contains(other) for other in found)
