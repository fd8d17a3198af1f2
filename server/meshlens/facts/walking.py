"""Walks the shape of a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from meshlens.facts.nodes import SPANNING, TreePart

if TYPE_CHECKING:
    from meshlens.facts.model import Block


def nodes(shape: object) -> Iterator[TreePart]:
    """Yields every node of a shape, each before its children."""
    waiting: list[Any] = [shape] if isinstance(shape, tuple) else []
    while waiting:
        node = waiting.pop()
        if type(node) is not tuple:
            yield node
        waiting.extend([part for part in node[::-1] if isinstance(part, tuple)])


def nodes_around(block: Block, site: int) -> Iterator[TreePart]:
    """Yields the nodes of a block that have or may contain a site, each before its children."""
    start, end = block.span(site)
    most = len(block.spans) // 2
    waiting: list[Any] = [block.shape]
    while waiting:
        node = waiting.pop()
        if type(node) in SPANNING:
            place = node.site
            span = block.span(place) if 0 <= place < most else None
            if span is not None and (span.end < end or span.start > start):
                continue
        if type(node) is not tuple:
            yield node
        waiting.extend([part for part in node[::-1] if isinstance(part, tuple)])
