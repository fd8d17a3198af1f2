"""Combines the blocks that an edit touches with the untouched ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from meshlens.facts.extract import Extraction
from meshlens.facts.model import Block, FileFacts, Suppression, moved
from meshlens.syntax.parse import Node
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Change:
    """The one span that contains all edits: its start, and its end before and after them."""

    start: int
    old_end: int
    end: int

    @property
    def by(self) -> int:
        """Returns the shift of everything after the change."""
        return self.end - self.old_end

    def followed_by(self, second: Change) -> Change:
        """Returns this change combined with a later change, whose offsets refer to the text after this one."""
        start = min(self.start, second.start)
        # In the text after the first change, the combined span ends where the later of the two spans ends.
        end_between = max(self.end, second.old_end)
        return Change(start, end_between - self.by, end_between + second.by)


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of joining unchanged and new blocks.

    Attributes:
        top: the keys of the top-level statements.
        blocks: all blocks.
        unsure: the blocks whose bytes might be read differently elsewhere.
        since: the previous state, and the blocks that differ from it.
    """

    top: tuple[str, ...]
    blocks: dict[str, Block]
    unsure: frozenset[str]
    since: tuple[object, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Splice:
    """The statements of a file that an edit leaves unchanged.

    Attributes:
        old: the facts before.
        unsure: the previous blocks whose bytes might be read differently elsewhere.
        change: the edit.
        first: the number of unchanged statements before it.
        rest: the number of unchanged statements after it, which move.
    """

    old: FileFacts
    unsure: frozenset[str]
    change: Change
    first: int
    rest: int

    def untouched(self) -> dict[int, Block]:
        """Returns the unchanged blocks inside changed ones, by their current start."""
        found: dict[int, Block] = {}
        for block in self._window():
            if "." not in block.key or "~" in block.key or block.key in self.unsure:
                continue
            if block.end < self.change.start:
                found[block.start] = block
            elif block.start > self.change.old_end:
                found[block.start + self.change.by] = moved(block, self.change.by)
        return found

    def joined(self, middle: list[str], extraction: Extraction) -> Joined | None:
        """Returns the unchanged and new blocks; None if keys must be renumbered."""
        low, high = self._bounds()
        blocks = list(self.old.blocks.values())
        window = blocks[low:high]
        by = self.change.by
        behind = [moved(block, by) for block in blocks[high:]] if by else blocks[high:]
        made = {block.key: block for block in blocks[:low]}
        made.update(extraction.blocks)
        made.update([(block.key, block) for block in behind])
        if len(made) != low + len(extraction.blocks) + len(behind) or _renumbers(window, extraction.blocks, made):
            return None
        unsure = self.unsure
        if unsure or extraction.unsure:
            unsure = (unsure - {block.key for block in window}) | extraction.unsure
        top = self.old.top
        touched = frozenset([*extraction.blocks, *[block.key for block in window]])
        tops = (*top[: self.first], *middle, *top[len(top) - self.rest :])
        return Joined(tops, made, unsure, (self.old.state, touched))

    def region(self, length: int) -> tuple[int, int]:
        """Returns the region of the old text in which a comment may apply to changed code.

        Args:
            length: the length of the old text.
        """
        old = self.old
        begin = old.blocks[old.top[self.first - 1]].start if self.first else 0
        return begin, old.blocks[old.top[len(old.top) - self.rest]].start if self.rest else length

    def suppressions(self, found: tuple[Suppression, ...], rows: int) -> tuple[Suppression, ...]:
        """Returns the old suppressions before the region, `found`, and those after the region, moved by `rows` rows."""
        if not self.old.suppressions:
            return found
        begin, end = self.region(1 << 62)
        before = [one for one in self.old.suppressions if one.span.start < begin]
        behind = [self._moved(one, rows) for one in self.old.suppressions if one.span.start >= end]
        return (*before, *found, *behind)

    def _moved(self, one: Suppression, rows: int) -> Suppression:
        by = self.change.by
        span = Span(one.span.start + by, one.span.end + by)
        return replace(one, span=span, lines=(one.lines[0] + rows, one.lines[1] + rows))

    def _window(self) -> list[Block]:
        low, high = self._bounds()
        return list(self.old.blocks.values())[low:high]

    def _bounds(self) -> tuple[int, int]:
        keys, top = list(self.old.blocks), self.old.top
        low = keys.index(top[self.first - 1]) + 1 if self.first else 0
        high = keys.index(top[len(top) - self.rest - 1]) + 1 if len(top) - self.rest else 0
        return low, high


def _renumbers(gone: list[Block], come: dict[str, Block], made: dict[str, Block]) -> bool:
    """Returns whether a duplicate key was added or removed, so that other keys may have to be renumbered."""
    left = {block.key for block in gone}
    return any("~" in key or key + "~2" in made for key in left.symmetric_difference(come))


def are_apart(tops: list[Block], starts: list[int], end: int, by: int) -> bool:
    """Returns whether no section begins inside a statement, and no statement extends past `end`."""
    at = 0
    for block in tops:
        start = block.start + by
        stop = block.end + by
        while at < len(starts) and starts[at] <= start:
            at += 1
        if (at < len(starts) and starts[at] < stop) or stop > end:
            return False
    return True


def same_from_the_start(tops: list[Block], nodes: list[Node], unsure: frozenset[str], change: Change) -> int:
    """Returns how many statements before the change are unchanged."""
    count = 0
    for block, node in zip(tops, nodes, strict=False):
        start, end = node.byte_range
        if end >= change.start or block.start != start or block.end != end or block.key in unsure:
            break
        count += 1
    return count


def same_to_the_end(tops: list[Block], nodes: list[Node], unsure: frozenset[str], change: Change, first: int) -> int:
    """Returns how many statements after the change are unchanged and have only moved."""
    count = 0
    by = change.by
    most = min(len(tops), len(nodes)) - first
    for block, node in zip(reversed(tops), reversed(nodes), strict=False):
        start, end = node.byte_range
        if count >= most or start <= change.end or block.start + by != start:
            break
        if block.end + by != end or block.key in unsure:
            break
        count += 1
    return count
