"""Updates a function in which a statement became longer or shorter: the rest keeps its sites."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from meshlens.facts.content import Content
from meshlens.facts.model import Block
from meshlens.facts.nodes import Statement
from meshlens.facts.paths import SIMPLE, Path, Spot, is_plain, statement_at, with_statement

Pieces: TypeAlias = tuple[tuple[int, int], ...]
Lowered: TypeAlias = "tuple[Statement, list[tuple[int, int]]] | None"


@dataclass(frozen=True, slots=True)
class Lengthened:
    """A block in which a statement became longer or shorter.

    Attributes:
        block: the block before.
        path: the path to the statement.
        end: the old end of the statement including its comment, from the block's start; enclosing nodes may end there
            too.
        new_end: the new end, from the block's start.
        by: the shift of everything after it.
    """

    block: Block
    path: Path
    end: int
    new_end: int
    by: int

    def with_same(self, lowered: Lowered) -> tuple[Block, Spot | None] | None:
        """Returns the block with new spans if the statement's shape is unchanged; None otherwise."""
        block = self.block
        old = statement_at(block.shape, self.path)
        if lowered is None or lowered[0] != old:
            return None
        first = old.site
        table = array("i", block.spans)
        pieces, own = self._placed(None, lowered[1][first:])
        table[2 * first : 2 * first + len(own)] = own
        return block._replace(content=block.content.with_spans(table), pieces=pieces), None

    def with_typed(self, lowered: Lowered, known: Spot | None) -> tuple[Block, Spot] | None:
        """Returns the block with its statement replaced, and a spot; None if the new statement cannot be read alone."""
        if lowered is None or not isinstance(lowered[0], SIMPLE) or not is_plain(lowered[0], 0):
            return None
        block, path = self.block, self.path
        shape, spans = lowered
        first = shape.site
        old = statement_at(block.shape, path)
        pieces, own = self._placed(known, spans[first:])
        table = block.spans[: 2 * first] if known is not None else _without(block, old)
        table.extend(own)
        whole = block.shape if shape == old else with_statement(block.shape, path, shape)
        made = Block(block.key, Content(whole, table), pieces, block.start)
        spot = Spot(block.key, path, first, pieces[-1][0], object())
        return made, spot if known is None else replace(spot, place=known.place, is_apart=known.is_apart)

    def _placed(self, known: Spot | None, spans: list[tuple[int, int]]) -> tuple[Pieces, array[int]]:
        """Returns the block's pieces, including one for the statement, and the statement's spans in that piece."""
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
    """Returns a block's pieces after a statement changed length, shifting the text that ends with it or follows it.

    Args:
        pieces: the pieces before.
        limit: the end of the last piece's text, if known.
        end: the statement's old end, from the block's start.
        new_end: its new end.
        by: the shift of everything after it and its comment.
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


def _without(block: Block, statement: Statement) -> array[int]:
    """Returns the spans of a block with the sites of a statement cleared."""
    spans = block.spans
    site = statement.site
    start, end, whole = spans[2 * site], spans[2 * site + 1], spans[1]
    made = array("i", spans)
    for number in range(0, len(spans), 2):
        if start <= spans[number] < spans[number + 1] <= end:
            # Such a span contains no offset, because it ends before it begins.
            made[number], made[number + 1] = whole, 0
    return made
