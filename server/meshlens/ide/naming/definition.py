"""Definition: goes from a use of an axis name to its binder, and from an expression for the name to its literal."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.ide.naming.occurrences import Place, place_of, said_at
from meshlens.ide.target import sites_at
from meshlens.project.axis_symbols import AxisSymbols, Node, symbols_around
from meshlens.project.view import FileView


def definition(view: FileView, offset: int) -> tuple[Place, ...]:
    """Returns the places that bind the axis name at the cursor.

    For a binder's argument that is not a literal, and for an unbound name, returns the place of the literal. Returns
    nothing if the cursor is not on an axis name.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    sites = sites_at(view, offset)
    if not sites:
        return ()
    symbols = symbols_around(view.solution, sites[0].path, sites[0].block)
    site = said_at(view, offset, symbols)
    if site is None:
        return ()
    binders = symbols.bound_by.get(site)
    nodes = [binder for node in binders for binder in _binding_places(view, symbols, node)] if binders else []
    if not nodes:
        nodes = [node[0] for node in symbols.at[site]]
    return tuple(sorted({place_of(view, where) for where in nodes}))


def _binding_places(view: FileView, symbols: AxisSymbols, node: Node) -> list[Site]:
    """Returns the places at which binders and meshes name an axis: literals if written there, else expressions."""
    if node in symbols.unwritten:
        return [node[0]]
    found: list[Site] = []
    for site, role in symbols.said.get(node, ()):
        if role == "binds":
            holds = site.path == node[0].path and view.span(site).contains(view.span(node[0]))
            found.append(node[0] if holds else site)
    return found or [node[0]]
