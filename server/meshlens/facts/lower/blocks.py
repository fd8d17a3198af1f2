"""Lowers a block, or one of its statements, to its shape."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from itertools import chain

from meshlens.facts.broken.holes import Holes
from meshlens.facts.editing.lengthened import Lowered
from meshlens.facts.lower.compounds import COMPOUND
from meshlens.facts.lower.functions import DEFINITIONS, LAMBDAS, function_block
from meshlens.facts.lower.lowering import Lowering, statement
from meshlens.facts.lower.names import NAMES
from meshlens.facts.lower.operators import OPERATORS
from meshlens.facts.lower.statements import SIMPLE
from meshlens.facts.lower.strings import STRINGS
from meshlens.facts.nodes import ExpressionStatement, FunctionShape, Opaque, Statement
from meshlens.syntax.kinds import by_kind
from meshlens.syntax.parse import Node

_EXPRESSIONS = by_kind({**NAMES, **OPERATORS, **STRINGS, **LAMBDAS})
STATEMENTS = by_kind({**SIMPLE, **COMPOUND, **DEFINITIONS})


def lower_block(
    text: bytes, node: Node, inner: dict[int, str], unread: Holes, *, alone: bool
) -> tuple[Statement | FunctionShape, list[tuple[int, int]]]:
    """Returns the shape of a block and the spans of its sites; code that cannot be lowered becomes opaque.

    Args:
        text: the text.
        node: the block.
        inner: the starts and keys of separate function blocks in it.
        unread: the holes in it.
        alone: whether the block is a separate function block itself.
    """
    lower: Callable[[Lowering, Node], Statement | FunctionShape] = function_block if alone else statement
    low = Lowering(text, _EXPRESSIONS, STATEMENTS, inner, careful=node.has_error, unread=unread)
    try:
        return lower(low, node), low.spans
    except Exception:
        # A grammar form that no handler expects; the code around it can still be read.
        low = Lowering(text, _EXPRESSIONS, STATEMENTS, inner, careful=True, unread=unread)
    try:
        return lower(low, node), low.spans
    except Exception:
        return FunctionShape("", 0, (), (), (), frozenset()) if alone else ExpressionStatement(
            "expr", 0, Opaque("opaque", 0, ())
        ), [node.byte_range]


def lower_statement(text: bytes, node: Node, first: int, unread: Holes) -> Lowered:
    """Returns the shape of a statement, with sites numbered from `first`, and their spans; None if it has errors."""
    low = Lowering(text, _EXPRESSIONS, STATEMENTS, {}, careful=False, spans=[(0, 0)] * first, unread=unread)
    with suppress(Exception):
        return statement(low, node), low.spans
    return None


def relative(spans: list[tuple[int, int]], pieces: list[tuple[int, int]]) -> tuple[array[int], int]:
    """Returns offsets relative to the text of the block, and a number that is still to be subtracted from each.

    In a block of one piece, the subtraction is the same for all offsets; it is postponed because few offsets are
    ever used.
    """
    if len(pieces) == 1:
        return array("i", chain.from_iterable(spans)), pieces[0][1]
    starts = [start for _, start in pieces]
    out = array("i")
    for span in spans:
        for offset in span:
            base, start = pieces[bisect_right(starts, offset) - 1]
            out.append(base + offset - start)
    return out, 0
