"""The names and values in assignments, and the name at a cursor."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Assign, Expression, Name, Starred, TupleDisplay
from meshlens.project.trees import Node, blocks_at, nodes_at, path_to, walk
from meshlens.project.view import FileView
from meshlens.text import Span


def results_of(view: FileView, site: Site) -> frozenset[str]:
    """Returns the names in the targets of the assignment whose value contains the expression at a site."""
    facts = view.solution.facts.get(site.path)
    block = facts.blocks.get(site.block) if facts is not None else None
    if block is None:
        return frozenset()
    return view.solution.once_of(("assists: results", site), block.content, None, lambda: _results_of(view, site))


def _results_of(view: FileView, site: Site) -> frozenset[str]:
    targets = [target for node in path_to(view, site) if isinstance(node, Assign) for target in node.targets]
    return frozenset(inner.name for target in targets for inner in walk(target) if isinstance(inner, Name))


def assigned_parts(target: Node, value: Expression) -> Iterable[tuple[Node, Expression]]:
    """Returns the targets of an assignment with their values; each gets the whole value if it cannot be taken apart."""
    if not isinstance(target, TupleDisplay):
        return ((target, value),)
    parts = value.items if isinstance(value, TupleDisplay) else ()
    is_apart = len(parts) == len(target.items) and not any(isinstance(one, Starred) for one in (*parts, *target.items))
    return zip(target.items, parts if is_apart else [value] * len(target.items), strict=True)


def name_at(view: FileView, span: Span) -> tuple[Site, str] | None:
    """Returns the variable at a cursor or selection: the site of its name, and the name."""
    given = "assists: name at a cursor", view.path
    # Cached by facts: unlike a solution, they do not survive edits that only move lines.
    return view.solution.once_of(given, view.facts, span, lambda: _name_at(view, span))


def _name_at(view: FileView, span: Span) -> tuple[Site, str] | None:
    path = str(view.path)
    for key in blocks_at(view, span):
        for node in nodes_at(view, path, key, span):
            if isinstance(node, Name):
                return Site(path, key, node.site), str(node.name)
    return None
