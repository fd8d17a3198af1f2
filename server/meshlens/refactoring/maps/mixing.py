"""Tells where code may combine rows, for refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Call
from meshlens.project.trees import Node, nodes_of_block
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import line_of

_LONGEST = 60
"""Number of characters after which an expression is not quoted in full."""


class Mixing(NamedTuple):
    """An expression that may combine rows, in ways that are not understood.

    Attributes:
        view: its file.
        node: the expression.
    """

    view: FileView
    node: Node


def mixed_at(view: FileView, mixing: Sequence[Mixing]) -> str:
    """Returns where rows may be combined, as the end of a sentence; "" if unknown.

    Args:
        view: the file of the step.
        mixing: the expressions that may combine rows, innermost first.
    """
    for one in mixing:
        site = _site_of(one)
        if site is not None:
            line = line_of(one.view, site)
            where = f"on line {line}" if view.path == one.view.path else f"in {one.view.path.name}, line {line},"
            return f': "{_shown(one, site)}" {where} may need all rows of the batch'
    return ""


def _site_of(mixing: Mixing) -> Site | None:
    path = str(mixing.view.path)
    for block in mixing.view.facts.blocks:
        if any(node is mixing.node for node in nodes_of_block(mixing.view, path, block)):
            return Site(path, block, mixing.node.site)
    return None


def _shown(mixing: Mixing, site: Site) -> str:
    text = " ".join(mixing.view.text(site).split())
    if len(text) <= _LONGEST:
        return text
    if isinstance(mixing.node, Call):
        callee = mixing.view.text(site._replace(index=mixing.node.callee.site))
        if len(callee) <= _LONGEST and "\n" not in callee:
            return f"{callee}(…)"
    return f"{text[: _LONGEST - 1]}…"
