"""The grammar's node kinds and fields as numbers, which are faster to compare than names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from meshlens.syntax.parse import LANGUAGE, Node

_T = TypeVar("_T")

NAMES: tuple[str, ...] = tuple(LANGUAGE.node_kind_for_id(number) or "" for number in range(LANGUAGE.node_kind_count))


def kind(name: str) -> int:
    """Returns the number of a named node kind; -1, which no node has, if this version of the grammar lacks it."""
    number = LANGUAGE.id_for_node_kind(name, True)
    return -1 if number is None else number


def kinds(names: Iterable[str]) -> frozenset[int]:
    """Returns the numbers of several kinds."""
    return frozenset(kind(name) for name in names)


def by_kind(table: Mapping[str, _T]) -> dict[int, _T]:
    """Converts a table keyed by the names of kinds to one keyed by their numbers."""
    return {kind(name): value for name, value in table.items()}


def field(name: str) -> int:
    """Returns the number of a field; 0, which no field has, if this version of the grammar lacks it."""
    return LANGUAGE.field_id_for_name(name) or 0


COMMENT = kind("comment")
EXTRAS = frozenset((COMMENT, kind("line_continuation")))


def items(node: Node) -> list[Node]:
    """Returns the named children without comments and line continuations."""
    return [child for child in node.named_children if child.kind_id not in EXTRAS]


def parts(node: Node) -> list[Node]:
    """Returns all children, including punctuation, without comments and line continuations."""
    return [child for child in node.children if child.kind_id not in EXTRAS]
