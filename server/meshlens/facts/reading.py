"""A file that is being edited: its tree and its facts, carried from one text to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from meshlens.facts.extract import Extraction, Memo, facts_of, top_level
from meshlens.facts.model import Block, FileFacts, Suppression, moved
from meshlens.facts.suppressions import suppressions_between
from meshlens.syntax.parse import Node, Tree, broken_spans, edited, readable, tree_of
from meshlens.text import Edit, Span, difference

_MOST_REMEMBERED = 400


@dataclass(frozen=True, slots=True)
class Reading:
    """One text of a file with all that makes the next one cheap to read.

    Attributes:
        source: the bytes.
        text: the same, readable.
        tree: the syntax tree.
        facts: what the text says.
        unsure: the blocks that the same bytes may not give again.
        memo: shapes of recent blocks by their bytes; it changes, but never what it says of any bytes.
    """

    source: bytes
    text: bytes
    tree: Tree
    facts: FileFacts
    unsure: frozenset[str]
    memo: Memo


@dataclass(frozen=True, slots=True)
class _Change:
    """The one stretch that holds all edits: its start, its end before and after."""

    start: int
    old_end: int
    end: int

    @property
    def by(self) -> int:
        return self.end - self.old_end


def read(source: bytes) -> Reading:
    """Reads a text from its beginning."""
    text = readable(source)
    tree = tree_of(text)
    memo: Memo = {}
    facts, unsure = facts_of(text, tree.root_node, memo)
    return Reading(source, text, tree, facts, unsure, {})


def read_again(before: Reading, edits: Sequence[Edit]) -> Reading:
    """Reads a text after edits, one after the other, and looks only at the statements that they touch.

    Args:
        before: the text before.
        edits: each span lies in the text that the edits before it made.

    Raises:
        ValueError: an edit lies outside the text.
    """
    source, text, tree = before.source, before.text, before.tree
    change: _Change | None = None
    for edit in edits:
        if not 0 <= edit.span.start <= edit.span.end <= len(source):
            raise ValueError(f"an edit lies outside the text at byte {edit.span.start}")
        new = edit.text.encode("utf-8", "replace")
        made = b"".join((source[: edit.span.start], new, source[edit.span.end :]))
        start, end = edit.span
        if b"\r" in made or b"\r" in source:
            # Whether a carriage return ends a line is decided by the byte behind it.
            start, end = max(start - 1, 0), min(end + 1, len(source))
        by = len(made) - len(source)
        made_text = readable(made)
        tree = edited(tree, text, start, end, made_text[start : end + by])
        source, text = made, made_text
        change = _joined(change, _Change(start, end, end + by))
    if change is None:
        return before
    tree = tree_of(text, tree)
    if len(before.memo) > _MOST_REMEMBERED:
        for label in list(islice(before.memo, _MOST_REMEMBERED // 2)):
            before.memo.pop(label, None)
    facts, unsure = _facts_again(before, text, tree.root_node, change)
    return Reading(source, text, tree, facts, unsure, before.memo)


def resume(source: bytes, facts: FileFacts) -> Reading:
    """What `read` gives for a text whose facts are known."""
    if facts.broken:
        return read(source)
    text = readable(source)
    return Reading(source, text, tree_of(text), facts, frozenset(), {})


def whole_edit(before: bytes, after: bytes) -> Edit | None:
    """The one edit that makes a text of another; None if it cannot be told, as the bytes are no UTF-8."""
    start, end = difference(before, after)
    by = len(after) - len(before)
    while start and any(text[start : start + 1] and text[start] & 0xC0 == 0x80 for text in (before, after)):
        start -= 1
    while end < len(before) and (before[end] & 0xC0 == 0x80 or after[end + by] & 0xC0 == 0x80):
        end += 1
    try:
        return Edit(Span(start, end), after[start : end + by].decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _joined(first: _Change | None, second: _Change) -> _Change:
    if first is None:
        return second
    start = min(first.start, second.start)
    # The second counts in the text that the first made: what lies behind both ends is moved by the first.
    end_between = max(first.end, second.old_end)
    return _Change(start, end_between - first.by, end_between + second.by)


def _facts_again(before: Reading, text: bytes, root: Node, change: _Change) -> tuple[FileFacts, frozenset[str]]:
    old, by = before.facts, change.by
    tops = [old.blocks[key] for key in old.top]
    nodes = list(top_level(root))
    first = _same_from_the_start(tops, nodes, before.unsure, change)
    rest = _same_to_the_end(tops, nodes, before.unsure, change, first)
    keys = list(old.blocks)
    low = keys.index(old.top[first - 1]) + 1 if first else 0
    high = keys.index(old.top[len(tops) - rest - 1]) + 1 if len(tops) - rest else 0
    blocks = list(old.blocks.values())
    window = blocks[low:high]
    extraction = Extraction(text, before.memo, root.has_error, _untouched(window, before.unsure, change))
    middle = [extraction.add(node, "") for node in nodes[first : len(nodes) - rest]]
    behind = blocks[high:] if not by else [moved(block, by) for block in blocks[high:]]
    outside = {block.key: block for block in blocks[:low]}
    made = {**outside, **extraction.blocks}
    made.update([(block.key, block) for block in behind])
    if len(made) != low + len(extraction.blocks) + len(behind) or _renumbers(window, extraction.blocks, made):
        return facts_of(text, root, before.memo)
    top = (*old.top[:first], *middle, *old.top[len(tops) - rest :])
    gone = {block.key for block in window}
    unsure = before.unsure
    if extraction.unsure or not unsure.isdisjoint(gone):
        unsure = (unsure - gone) | extraction.unsure
    suppressions, devices = _suppressions_again(before, text, root, change, (tops, first, rest))
    broken = tuple([Span(*span) for span in broken_spans(root)])
    return FileFacts(top, made, suppressions, devices, broken), unsure


def _same_from_the_start(tops: list[Block], nodes: list[Node], unsure: frozenset[str], change: _Change) -> int:
    """How many statements before the change are what they were."""
    count = 0
    for block, node in zip(tops, nodes, strict=False):
        start, end = node.byte_range
        if end >= change.start or block.start != start or block.span(0).end != end:
            break
        if node.has_error or block.key in unsure:
            break
        count += 1
    return count


def _same_to_the_end(tops: list[Block], nodes: list[Node], unsure: frozenset[str], change: _Change, first: int) -> int:
    """How many statements behind the change are what they were, and only stand elsewhere."""
    count = 0
    by = change.by
    most = min(len(tops), len(nodes)) - first
    for block, node in zip(reversed(tops), reversed(nodes), strict=False):
        start, end = node.byte_range
        if count >= most or start <= change.end or block.start + by != start or block.span(0).end + by != end:
            break
        if node.has_error or block.key in unsure:
            break
        count += 1
    return count


def _untouched(window: list[Block], unsure: frozenset[str], change: _Change) -> dict[int, Block]:
    """The blocks inside touched ones that the change leaves as they are, by where they begin now."""
    found: dict[int, Block] = {}
    for block in window:
        if "." not in block.key or "~" in block.key or block.key in unsure:
            continue
        if block.start + block.spans[1] < change.start:
            found[block.start] = block
        elif block.start > change.old_end:
            found[block.start + change.by] = moved(block, change.by)
    return found


def _renumbers(gone: list[Block], come: dict[str, Block], made: dict[str, Block]) -> bool:
    """Whether a key that stands twice came or went, so that others may have to be numbered anew."""
    left = {block.key for block in gone}
    for key in left.symmetric_difference(come):
        if "~" in key or key + "~2" in made:
            return True
    return False


def _suppressions_again(
    before: Reading, text: bytes, root: Node, change: _Change, kept: tuple[list[Block], int, int]
) -> tuple[tuple[Suppression, ...], str | None]:
    tops, first, rest = kept
    old = before.facts
    begin = tops[first - 1].start if first else 0
    old_end = tops[len(tops) - rest].start if rest else len(before.text)
    found, devices = suppressions_between(text, root, begin, old_end + change.by)
    if devices is not None or old.devices is not None:
        return suppressions_between(text, root, 0, len(text))
    if not old.suppressions:
        return found, None
    rows = text.count(b"\n", change.start, change.end) - before.text.count(b"\n", change.start, change.old_end)
    kept_before = [one for one in old.suppressions if one.span.start < begin]
    kept_behind = [
        replace(
            one,
            span=Span(one.span.start + change.by, one.span.end + change.by),
            lines=(one.lines[0] + rows, one.lines[1] + rows),
        )
        for one in old.suppressions
        if one.span.start >= old_end
    ]
    return (*kept_before, *found, *kept_behind), None
