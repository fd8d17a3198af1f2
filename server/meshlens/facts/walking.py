"""Walks the shape of a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nodes(shape: Any) -> Iterator[Any]:
    """Every node of a shape, a node before its children."""
    waiting = [shape]
    while waiting:
        node = waiting.pop()
        if type(node) is tuple and node:
            yield node
            waiting.extend(reversed(node))
