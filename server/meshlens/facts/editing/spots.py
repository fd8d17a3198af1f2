"""The edited statement: after an edit, only this statement is read again, not its whole function.

The rest of the function keeps its shape and sites, and the statement's sites are numbered after all others. So an
analysis of the function needs to be updated only for the statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.facts.broken.holes import NO_HOLES, Holes, hole_again
from meshlens.facts.editing.lengthened import Lengthened
from meshlens.facts.editing.splicing import Change
from meshlens.facts.lower.blocks import lower_statement
from meshlens.facts.model import Block, FileFacts
from meshlens.facts.nodes import Hole
from meshlens.facts.paths import SIMPLE, Path, Spot, is_plain, path_to, statement_at
from meshlens.facts.suppressions import speaks
from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node
from meshlens.syntax.sections import is_closed, root_of, starts_anything
from meshlens.text import Span

_MOST_PIECES = 200
_STRING = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?:[^"\\\n]|\\.)*"|' + rb"'(?:[^'\\\n]|\\.)*'|#[^\n]*",
    re.DOTALL,
)
_OPEN, _CLOSE = re.compile(rb"[(\[{]"), re.compile(rb"[)\]}]")
_CLOSING = (b")", b"]", b"}")
_BEHIND = re.compile(rb"[ \t]*(?:#[^\n]*)?")


@dataclass(frozen=True, slots=True)
class Typed:
    """A function after an edit inside one simple statement.

    Attributes:
        block: the function's block.
        spot: the statement, if it has separate sites.
        end: the old end of the statement, including the comment after it.
        new_end: its new end.
        hole: the span of the statement, if it cannot be read.
    """

    block: Block
    spot: Spot | None
    end: int
    new_end: int
    hole: Span | None


def leaves_a_hole(facts: FileFacts) -> bool:
    """Returns whether the edited statement is the only unreadable part of the source text."""
    spot = facts.spot
    if spot is None or not spot.is_apart or len(facts.broken) != 1:
        return False
    return is_a_hole(facts.blocks[spot.key], spot.path, facts.broken[0])


def is_a_hole(block: Block, path: Path, broken: Span) -> bool:
    """Returns whether the statement at the end of a path is a hole that covers exactly the broken code."""
    statement = statement_at(block.shape, path)
    return isinstance(statement, SIMPLE) and isinstance(statement.value, Hole) and block.span(statement.site) == broken


def typed_again(
    before: bytes, text: bytes, block: Block, known: Spot | None, change: Change, hole: Span | None
) -> Typed | None:
    """Returns a function after an edit inside one simple statement; None if more may have changed.

    Args:
        before: the text before.
        text: the text now.
        block: the function's block before.
        known: the last edited statement, if it is in this block.
        change: the edit.
        hole: the unreadable statement, if there was one.
    """
    path = known.path if known is not None and holds_change(block, known, change) else path_to(block, change.start)
    if path is None or len(block.pieces) > _MOST_PIECES:
        return None
    old = statement_at(block.shape, path)
    if not isinstance(old, SIMPLE) or not is_plain(old, 0):
        return None
    start, end = block.span(old.site)
    if hole is not None and hole != (start, end):
        return None
    stop = before.find(b"\n", end)
    stop = stop if stop >= 0 else len(before)
    if not start <= change.start <= change.old_end <= stop or not _is_alone(before, start, end, stop):
        return None
    if path[-1] and before[: block.span(statement_at(block.shape, (*path[:-1], path[-1] - 1)).site).end].endswith(b","):
        return None
    new_stop = stop + change.by
    if speaks(before, start, stop) or (hole is None and not _may_stand_alone(before, start, stop)):
        return None
    if speaks(text, start, new_stop) or before.count(b"\n", start, stop) != text.count(b"\n", start, new_stop):
        return None
    typed = known if known is not None and known.path == path else None
    node, readable, unread, now = _alone(text, start, new_stop), text, NO_HOLES, None
    if node is None and typed is not None and typed.is_apart:
        without = hole_again(text, start, new_stop)
        if without is None:
            return None
        (node,), readable, unread, (now,) = items(without.root), without.text, without.unread, without.holes
    if node is None:
        return None
    made: tuple[Block, Spot | None] | None
    tails = _tail(before, end, stop) - block.start, _tail(readable, node.end_byte, new_stop) - block.start
    moved = Lengthened(block, path, *tails, change.by)
    if typed is not None:
        made = moved.with_typed(lower_statement(readable, node, typed.first, unread), typed)
    else:
        made = moved.with_same(lower_statement(readable, node, old.site, unread))
        if made is None:
            first = len(block.spans) // 2
            made = moved.with_typed(lower_statement(readable, node, first, unread), None)
    return Typed(*made, tails[0] + block.start, tails[1] + block.start, now) if made is not None else None


def _alone(text: bytes, start: int, stop: int) -> Node | None:
    """Returns a statement that parses in the same way without its context; None if that is not certain."""
    if not _may_stand_alone(text, start, stop):
        return None
    root = root_of(text, start, stop)
    found = items(root)
    if root.has_error or len(found) != 1 or found[0].start_byte != start:
        return None
    end = found[0].end_byte
    # The grammar lets a list of expressions continue after a line that ends in a comma.
    return found[0] if not text.endswith(b",", 0, end) and _is_alone(text, start, end, stop) else None


def watched_again(text: bytes, unread: Holes, block: Block, offset: int) -> tuple[Block, Spot] | None:
    """Returns a function with separate sites for the simple statement at an offset; None if it cannot be read alone.

    Args:
        text: the text, with holes for unreadable code.
        unread: the holes.
        block: the function's block.
        offset: the offset of the statement.
    """
    path = path_to(block, offset)
    if path is None or len(block.pieces) > _MOST_PIECES:
        return None
    old = statement_at(block.shape, path)
    start, end = block.span(old.site)
    stop = text.find(b"\n", end)
    stop = stop if stop >= 0 else len(text)
    if not offset <= stop or not is_plain(old, 0) or not _may_stand_alone(text, start, stop):
        return None
    found = items(root_of(text, start, stop))
    if len(found) != 1 or found[0].has_error or found[0].byte_range != (start, end):
        return None
    lowered = lower_statement(text, found[0], len(block.spans) // 2, unread)
    tail = _tail(text, end, stop) - block.start
    return Lengthened(block, path, tail, tail, 0).with_typed(lowered, None)


def holds_change(block: Block, spot: Spot, change: Change) -> bool:
    """Returns whether an edit is inside a spot's statement."""
    start, end = block.span(statement_at(block.shape, spot.path).site)
    return start <= change.start and change.old_end <= end


def _is_alone(text: bytes, start: int, end: int, stop: int) -> bool:
    """Returns whether a statement and its comment are alone on their lines."""
    line = text.rfind(b"\n", 0, start) + 1
    return not text[line:start].strip(b" \t") and _BEHIND.fullmatch(text, end, stop) is not None


def _tail(text: bytes, end: int, stop: int) -> int:
    """Returns the end of the comment after a statement, or of the statement if there is none."""
    return stop if b"#" in text[end:stop] else end


def _may_stand_alone(text: bytes, start: int, stop: int) -> bool:
    """Returns whether lines seem to parse in the same way without the lines around them."""
    stretch = text[start:stop]
    if b"\r" in stretch or b"\f" in stretch or stretch.rstrip().endswith(b"\\"):
        return False
    if not is_closed(text, start, stop) or starts_anything(text, start + 1, stop):
        return False
    first, *rest = _STRING.sub(b"", stretch).split(b"\n")
    if rest and b"lambda" in stretch:
        return False
    indent = start - text.rfind(b"\n", 0, start) - 1
    opened = len(_OPEN.findall(first)) - len(_CLOSE.findall(first))
    for line in rest:
        # Outside brackets, or indented no more than the statement, a line may be a statement of its own.
        if opened <= 0 or len(line) - len(line.lstrip()) <= indent - (line.lstrip()[:1] in _CLOSING):
            return False
        opened += len(_OPEN.findall(line)) - len(_CLOSE.findall(line))
    return opened == 0
