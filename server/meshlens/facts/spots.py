"""The statement that is being typed in: after an edit it alone is read again, and nothing else of its function.

What stays keeps its shape and its sites; the statement gets sites behind all others.  So whoever knows what the
function does has to look at the statement alone.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from meshlens.facts.model import Block, Shape
from meshlens.facts.paths import SIMPLE, Path, path_to, statement_at, with_statement
from meshlens.facts.splicing import Change
from meshlens.facts.suppressions import speaks
from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node
from meshlens.syntax.sections import is_closed, section_of, starts_anything

_DEEPEST = 60
_MOST_PIECES = 200
_STRING = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?:[^"\\\n]|\\.)*"|' + rb"'(?:[^'\\\n]|\\.)*'|#[^\n]*",
    re.DOTALL,
)
_OPEN, _CLOSE = re.compile(rb"[(\[{]"), re.compile(rb"[)\]}]")
_CLOSING = (b")", b"]", b"}")
_BEHIND = re.compile(rb"[ \t]*(?:#[^\n]*)?")

Pieces: TypeAlias = tuple[tuple[int, int], ...]
Lowered: TypeAlias = "tuple[Shape, list[tuple[int, int]]] | None"
Lower: TypeAlias = Callable[[bytes, Node, int], Lowered]
"""Lowers a statement in a text with sites from a number on."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A statement of a function that was read for itself.

    Attributes:
        key: the function's block.
        path: the way from the block's shape to the statement, index by index.
        first: its first site; it and those behind it are the statement's alone.
        offset: where it begins in the block's own text, behind all else; None if it stands in its place there.
        place: stands for all around it: the same after edits that change nothing but the statement.
    """

    key: str
    path: Path
    first: int
    offset: int | None
    place: object


def typed_again(
    before: bytes, text: bytes, block: Block, known: Spot | None, change: Change, lower: Lower
) -> tuple[Block, Spot | None, tuple[int, int]] | None:
    """A function after an edit inside one simple statement; None if more than that may have changed.

    Args:
        before: the text before.
        text: the text now.
        block: the function's block before.
        known: the statement that was typed in last, if it is in this block.
        change: the edit.
        lower: lowers a statement.

    Returns:
        The block, the statement if it has sites of its own, and where it ended and ends.
    """
    path = known.path if known is not None and _holds(block, known, change) else path_to(block, change.start)
    if path is None or len(block.pieces) > _MOST_PIECES:
        return None
    old = statement_at(block.shape, path)
    if old[0] not in SIMPLE or not _is_plain(old, 0):
        return None
    start, end = block.span(old[1])
    stop = before.find(b"\n", end)
    stop = stop if stop >= 0 else len(before)
    if not start <= change.start <= change.old_end <= stop or not _is_alone(before, start, end, stop):
        return None
    if path[-1] and before[: block.span(statement_at(block.shape, (*path[:-1], path[-1] - 1))[1]).end].endswith(b","):
        return None
    new_stop = stop + change.by
    if speaks(before, start, stop) or not _may_stand_alone(before, start, stop):
        return None
    if speaks(text, start, new_stop) or not _may_stand_alone(text, start, new_stop):
        return None
    if before.count(b"\n", start, stop) != text.count(b"\n", start, new_stop):
        return None
    root = section_of(text, start, new_stop).root
    found = items(root)
    if root.has_error or len(found) != 1 or found[0].start_byte != start:
        return None
    new_end = found[0].end_byte
    # The grammar lets a list of expressions go on behind a line that ends in a comma.
    if text[new_end - 1 : new_end] == b"," or not _is_alone(text, start, new_end, new_stop):
        return None
    made: tuple[Block, Spot | None] | None
    tails = _tail(before, end, stop) - block.start, _tail(text, new_end, new_stop) - block.start
    moved = _Moved(block, path, *tails, change.by)
    if known is not None and known.path == path:
        made = moved.with_typed(lower(text, found[0], known.first), known)
    else:
        made = moved.with_same(lower(text, found[0], old[1]))
        if made is None:
            first = len(block.spans) // 2
            made = moved.with_typed(lower(text, found[0], first), None)
    return (*made, (tails[0] + block.start, tails[1] + block.start)) if made is not None else None


def watched_again(text: bytes, block: Block, offset: int, lower: Lower) -> tuple[Block, Spot] | None:
    """A function in which the simple statement at an offset gets sites of its own; None if it cannot be read alone."""
    path = path_to(block, offset)
    if path is None or len(block.pieces) > _MOST_PIECES:
        return None
    old = statement_at(block.shape, path)
    start, end = block.span(old[1])
    stop = text.find(b"\n", end)
    stop = stop if stop >= 0 else len(text)
    if not offset <= stop or not _is_plain(old, 0) or not _may_stand_alone(text, start, stop):
        return None
    found = items(section_of(text, start, stop).root)
    if len(found) != 1 or found[0].has_error or found[0].byte_range != (start, end):
        return None
    lowered = lower(text, found[0], len(block.spans) // 2)
    tail = _tail(text, end, stop) - block.start
    return _Moved(block, path, tail, tail, 0).with_typed(lowered, None)


@dataclass(frozen=True, slots=True)
class _Moved:
    """A block in which a statement became longer or shorter.

    Attributes:
        block: the block before.
        path: the way to the statement.
        end: where that and its comment ended, from the block's start: there ends whatever ends with it.
        new_end: where they end now.
        by: how far moves what lies behind it.
    """

    block: Block
    path: Path
    end: int
    new_end: int
    by: int

    def with_same(self, lowered: Lowered) -> tuple[Block, Spot | None] | None:
        """The block where the statement has the shape that it had; None if it has another."""
        block = self.block
        old = statement_at(block.shape, self.path)
        if lowered is None or lowered[0] != old:
            return None
        first = old[1]
        table = array("i", block.spans)
        pieces, own = self._placed(None, lowered[1][first:])
        table[2 * first : 2 * first + len(own)] = own
        return block._replace(spans=table, pieces=pieces), None

    def with_typed(self, lowered: Lowered, known: Spot | None) -> tuple[Block, Spot] | None:
        """The block with another statement; None if that is none that may be typed in alone."""
        if lowered is None or lowered[0][0] not in SIMPLE or not _is_plain(lowered[0], 0):
            return None
        block, path = self.block, self.path
        shape, spans = lowered
        first = shape[1]
        old = statement_at(block.shape, path)
        pieces, own = self._placed(known, spans[first:])
        table = block.spans[: 2 * first] if known is not None else _without(block, old)
        table.extend(own)
        whole = block.shape if shape == old else with_statement(block.shape, path, shape)
        place = known.place if known is not None else object()
        made = Block(block.key, whole, table, pieces, block.start)
        return made, Spot(block.key, path, first, pieces[-1][0], place)

    def _placed(self, known: Spot | None, spans: list[tuple[int, int]]) -> tuple[Pieces, array[int]]:
        """The pieces with one for the statement, and its spans in it."""
        block = self.block
        if known is not None and known.offset is not None:
            offset = known.offset
            pieces = moved_pieces(block.pieces[:-1], offset, self.end, self.new_end, self.by)
        else:
            pieces = moved_pieces(block.pieces, None, self.end, self.new_end, self.by)
            offset = max(max(block.spans), pieces[-1][0]) + 2
        start = spans[0][0]
        own = array("i", [offset + position - start for span in spans for position in span])
        return (*pieces, (offset, start - block.start)), own


def moved_pieces(pieces: Sequence[tuple[int, int]], limit: int | None, end: int, new_end: int, by: int) -> Pieces:
    """The pieces of a block in which a statement became longer: what ends with it, and what lies behind it, moves.

    Args:
        pieces: the pieces before.
        limit: where the text of the last piece ends, if that is known.
        end: where the statement ended, from the block's start.
        new_end: where it ends now.
        by: how far moves what lies behind it; a comment may stand between.
    """
    moved: list[tuple[int, int]] = []

    def add(offset: int, distance: int) -> None:
        if not moved or distance - moved[-1][1] != offset - moved[-1][0]:
            moved.append((offset, distance))

    for number, (offset, distance) in enumerate(pieces):
        behind = pieces[number + 1][0] if number + 1 < len(pieces) else limit
        if distance > end:
            add(offset, distance + by)
            continue
        if distance < end:
            add(offset, distance)
        cut = offset + end - distance
        if behind is None or cut < behind:
            add(cut, new_end)
            if behind is None or cut + 1 < behind:
                add(cut + 1, end + 1 + by)
    return tuple(moved)


def _holds(block: Block, spot: Spot, change: Change) -> bool:
    start, end = block.span(statement_at(block.shape, spot.path)[1])
    return start <= change.start and change.old_end <= end


def _is_plain(node: Any, depth: int) -> bool:
    """Whether an expression is no deeper than handlers go anywhere, and makes no generator of its function."""
    if type(node) is not tuple:
        return True
    if depth > _DEEPEST or (node and node[0] == "yield"):
        return False
    return all(_is_plain(part, depth + 1) for part in node if type(part) is tuple)


def _is_alone(text: bytes, start: int, end: int, stop: int) -> bool:
    """Whether a statement has its lines for itself and its comment."""
    line = text.rfind(b"\n", 0, start) + 1
    return not text[line:start].strip(b" \t") and _BEHIND.fullmatch(text, end, stop) is not None


def _tail(text: bytes, end: int, stop: int) -> int:
    """Where the comment behind a statement ends, or else the statement."""
    return stop if b"#" in text[end:stop] else end


def _may_stand_alone(text: bytes, start: int, stop: int) -> bool:
    """Whether some lines seem to be read alike without those around them."""
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
        # Outside brackets, and further out than the statement, the grammar sees other lines.
        if opened <= 0 or len(line) - len(line.lstrip()) <= indent - (line.lstrip()[:1] in _CLOSING):
            return False
        opened += len(_OPEN.findall(line)) - len(_CLOSE.findall(line))
    return True


def _without(block: Block, statement: Shape) -> array[int]:
    """The spans of a block in which the sites of a statement stand for nothing any more."""
    spans = block.spans
    site = statement[1]
    start, end, whole = spans[2 * site], spans[2 * site + 1], spans[1]
    made = array("i", spans)
    for number in range(0, len(spans), 2):
        if start <= spans[number] < spans[number + 1] <= end:
            # It holds no offset, as it ends before it begins.
            made[number], made[number + 1] = whole, 0
    return made
