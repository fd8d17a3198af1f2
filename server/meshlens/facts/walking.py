"""Walks the shape of a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meshlens.facts.model import Block

_HOWS = frozenset({"only", "any", "*", "key", "**"})


def is_parameter(node: tuple[Any, ...]) -> bool:
    """Whether a node is a parameter; a product or a power has as many parts, and its operator in the same place."""
    if len(node) != 5 or type(node[2]) is not str or node[2] not in _HOWS:
        return False
    return node[0] != "bin" or node[2] not in ("*", "**") or node[3] is None


def is_function(node: tuple[Any, ...]) -> bool:
    """Whether a node is the tuple of a function."""
    return len(node) == 6 and type(node[5]) is frozenset


def is_constant(node: tuple[Any, ...]) -> bool:
    """Whether a tuple is the node of a constant; a keyword, a function or an import may be called "const" too."""
    return len(node) == 3 and node[0] == "const" and type(node[1]) is int and type(node[2]) is not tuple


def is_hole(node: tuple[Any, ...]) -> bool:
    """Whether a tuple is the node of what cannot be read; other things may be called "hole"."""
    return len(node) == 4 and node[0] == "hole" and type(node[1]) is int


def nodes(shape: Any) -> Iterator[Any]:
    """Every node of a shape, a node before its children."""
    waiting = [shape]
    while waiting:
        node = waiting.pop()
        if type(node) is tuple and node:
            yield node
            waiting.extend(reversed(node))


def nodes_around(block: Block, site: int) -> Iterator[Any]:
    """The nodes of a block that have or may hold a site, a node before its children; those elsewhere are left out."""
    start, end = block.span(site)
    most = len(block.spans) // 2
    waiting: list[Any] = [block.shape]
    while waiting:
        node = waiting.pop()
        if type(node) is not tuple or not node:
            continue
        if len(node) > 1 and type(node[0]) is str and type(node[1]) is int and spans_its_parts(node):
            span = block.span(node[1]) if 0 <= node[1] < most else None
            if span is not None and (span.end < end or span.start > start):
                continue
        yield node
        waiting.extend(reversed(node))


def spans_its_parts(node: Any) -> bool:
    """Whether the site of a node holds those of its parts: that of a parameter or a function is its name alone."""
    return not is_function(node) and not is_parameter(node)
