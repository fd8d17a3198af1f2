"""What names the results of calls are given, and the name that a cursor is on."""

from __future__ import annotations

from meshlens.axes.values import Site
from meshlens.project.trees import path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.text import Span


def results_of(view: FileView, site: Site) -> set[str]:
    """The names that an assignment gives to what stands at a site or around it."""
    targets = [target for node in path_to(view, site) if node[0] == "assign" for target in node[2]]
    return {inner[2] for target in targets for inner in walk(target) if inner[0] == "name"}


def name_at(view: FileView, span: Span) -> str | None:
    """The variable that a cursor or selection is on."""
    path = str(view.path)
    for key, block in view.facts.blocks.items():
        root = tree(view, path, key) if block.holds(span) else None
        for node in walk(root) if root is not None else ():
            if node[0] == "name" and view.span(Site(path, key, node[1])).contains(span):
                return str(node[2])
    return None
