"""The state of lowering one block, and the two functions through which every node passes."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import TypeAlias, TypeVar

from meshlens.facts.broken.holes import Holes
from meshlens.facts.nodes import Expression, ExpressionStatement, Hole, Name, Opaque, Statement, Statements
from meshlens.syntax.kinds import EXTRAS, kind
from meshlens.syntax.parse import Node

DEEPEST = 150
"""Nodes below this depth become opaque, so that no walk over a shape overflows the stack."""

_IDENTIFIER = kind("identifier")
_BLOCK = kind("block")


@dataclass(slots=True)
class Lowering:
    """The state while one block is lowered.

    Attributes:
        source: the bytes of the file.
        expressions: lowers each kind of expression.
        statements: lowers each kind of statement.
        holes: keys of separate function blocks, by their start.
        unread: the holes for unreadable code in the source.
        careful: whether the block is broken or a handler failed; nodes that a handler cannot lower become opaque.
        spans: the span of each site in the file.
        depth: the depth of the walk.
        generator: whether the innermost function has a `yield`.
    """

    source: bytes
    expressions: Mapping[int, ExpressionHandler]
    statements: Mapping[int, StatementHandler]
    holes: Mapping[int, str]
    careful: bool
    spans: list[tuple[int, int]] = field(default_factory=list)
    unread: Holes = field(default_factory=dict)
    depth: int = 0
    generator: bool = False


ExpressionHandler: TypeAlias = Callable[[Lowering, Node], Expression]
StatementHandler: TypeAlias = Callable[[Lowering, Node], Statement]
_Lowered = TypeVar("_Lowered", Expression, Statement)
new = tuple.__new__
"""Creates the most frequent nodes, twice as fast as their constructors."""


def mark(low: Lowering, node: Node) -> int:
    """Returns a new site for a node."""
    spans = low.spans
    spans.append(node.byte_range)
    return len(spans) - 1


def mark_between(low: Lowering, start: int, end: int) -> int:
    """Returns a new site with the given start and end."""
    low.spans.append((start, end))
    return len(low.spans) - 1


def text_of(low: Lowering, node: Node) -> str:
    """Returns the text of a name."""
    start, end = node.byte_range
    return _named(low.source[start:end])


def _named(raw: bytes) -> str:
    if raw.isascii():
        return intern(raw.decode())
    return intern(unicodedata.normalize("NFKC", raw.decode("utf-8", "replace")))


def expression(low: Lowering, node: Node) -> Expression:
    """Returns the shape of an expression; any other node becomes an opaque expression."""
    number = node.kind_id
    if number == _IDENTIFIER:
        span = node.byte_range
        low.spans.append(span)
        text = _named(low.source[span[0] : span[1]])
        site = len(low.spans) - 1
        return new(Name, ("name", site, text)) if text else Opaque("opaque", site, ())
    if low.unread and node.start_byte in low.unread:
        return Hole("hole", mark(low, node), *low.unread[node.start_byte])
    if low.depth >= DEEPEST:
        return Opaque("opaque", mark(low, node), ())
    low.depth += 1
    handler = low.expressions.get(number, opaque)
    shape = _carefully(low, node, handler, opaque, simple=True) if low.careful else handler(low, node)
    low.depth -= 1
    return shape


def maybe(low: Lowering, node: Node | None) -> Expression | None:
    """Returns the shape of an expression that may be missing."""
    return None if node is None else expression(low, node)


def statement(low: Lowering, node: Node) -> Statement:
    """Returns the shape of a statement; any other node becomes an expression statement."""
    handler = low.statements.get(node.kind_id)
    if handler is None or low.depth >= DEEPEST:
        return ExpressionStatement("expr", mark(low, node), expression(low, node))
    low.depth += 1
    if low.careful:
        shape = _carefully(low, node, handler, opaque_statement, simple=not _has_block(node))
    else:
        shape = handler(low, node)
    low.depth -= 1
    return shape


def body(low: Lowering, node: Node | None) -> Statements:
    """Returns the statements of a suite that may be missing."""
    if node is None:
        return ()
    return tuple([statement(low, child) for child in node.named_children if child.kind_id not in EXTRAS])


def opaque(low: Lowering, node: Node) -> Opaque:
    """Returns an opaque node; only the expressions in it are known."""
    site = mark(low, node)
    statements = low.statements
    children = [
        expression(low, child)
        for child in node.named_children
        if (number := child.kind_id) not in EXTRAS and number not in statements and number != _BLOCK
    ]
    return Opaque("opaque", site, tuple(children))


def opaque_statement(low: Lowering, node: Node) -> ExpressionStatement:
    """Returns an opaque statement; only the expressions in it are known."""
    return ExpressionStatement("expr", mark(low, node), opaque(low, node))


def _carefully(
    low: Lowering,
    node: Node,
    handler: Callable[[Lowering, Node], _Lowered],
    fallback: Callable[[Lowering, Node], _Lowered],
    *,
    simple: bool,
) -> _Lowered:
    depth = low.depth
    if simple and node.has_error and any(child.is_error or child.is_missing for child in node.children):
        return fallback(low, node)
    try:
        return handler(low, node)
    except Exception:
        # A tree with errors may lack any child; a handler that fails because of that leaves the node opaque.
        low.depth = depth
        return fallback(low, node)


def _has_block(node: Node) -> bool:
    return any(child.kind_id == _BLOCK for child in node.named_children) or node.type == "decorated_definition"
