"""Occurrences: every place in the workspace with the name of one axis, and its role."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from meshlens.axes.domain.values import Site
from meshlens.ide.target import sites_at
from meshlens.project.axis_symbols import AxisSymbol, AxisSymbols, Role, axis_symbols
from meshlens.project.view import FileView
from meshlens.text import Span

_ORDER: dict[Role, int] = {"binds": 0, "uses": 1, "names": 2}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A range of bytes in a file."""

    path: Path
    span: Span


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """A place with an axis name.

    Attributes:
        path, span: the literal, or the expression that represents it.
        role: "binds" for a binder or a mesh, "uses" for a collective or a spec, "names" for a constant, a default or an
            argument with the name.
    """

    path: Path
    span: Span
    role: Role


def place_of(view: FileView, site: Site) -> Place:
    """Returns the place of a site."""
    return Place(view.path_of(site), view.span(site))


def said_at(view: FileView, offset: int, symbols: AxisSymbols) -> Site | None:
    """Returns the innermost expression that gives an axis name at an offset; None if there is none."""
    sites = sites_at(view, offset)
    spans = [view.span(site) for site in sites]
    for place, site in enumerate(sites):
        inner = any(spans[place] != other and spans[place].contains(other) for other in spans[:place])
        if not inner and site in symbols.at:
            return site
    return None


def symbols_under(view: FileView, offset: int) -> tuple[AxisSymbol, ...]:
    """Returns the axis symbols of the expression at an offset; none if it is not an axis name."""
    symbols = axis_symbols(view.solution)
    site = said_at(view, offset, symbols)
    return symbols.symbols_at(site) if site is not None else ()


def occurrences(view: FileView, symbol: AxisSymbol) -> tuple[Occurrence, ...]:
    """Returns every occurrence of a symbol's name, in order."""
    literals: dict[tuple[str, str], list[tuple[Span, Site]]] = defaultdict(list)
    roles: dict[Site, Role] = {}
    for site in symbol.literals - symbol.unwritten:
        literals[site.path, site.block].append((view.span(site), site))
    found: set[Occurrence] = set()
    for site, role in symbol.sayings:
        span = view.span(site)
        inside = [literal for other, literal in literals[site.path, site.block] if span.contains(other)]
        for literal in inside:
            roles[literal] = min(role, roles.get(literal, role), key=_ORDER.__getitem__)
        if not inside and not view.text(site).startswith(("(", "[", "{")):
            found.add(Occurrence(view.path_of(site), span, role))
    for site in symbol.literals - symbol.unwritten:
        found.add(Occurrence(view.path_of(site), view.span(site), roles.get(site, "names")))
    return tuple(sorted(found))
