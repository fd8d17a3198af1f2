"""Reads a file while it is being edited, updating its tree and facts after each edit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from meshlens.facts.editing.methods_again import method_again
from meshlens.facts.editing.splicing import Change, Splice, are_apart, same_from_the_start, same_to_the_end
from meshlens.facts.editing.spots import leaves_a_hole
from meshlens.facts.editing.typing_again import Earlier, kept, statement_again, with_new_spot, with_old_spot, with_spot
from meshlens.facts.editing.windows import Sections, Window, end_of, read_apart, sections_after, sections_of, window_of
from meshlens.facts.extract import Extraction, Memo, facts_apart, facts_of
from meshlens.facts.model import Block, FileFacts
from meshlens.facts.suppressions import may_say_devices, speaks, suppressions_between, suppressions_in
from meshlens.syntax.kinds import items
from meshlens.syntax.lines import tree_of
from meshlens.syntax.parse import Node, Tree, edited, is_cut, parse_again, readable, readable_again
from meshlens.syntax.sections import section_starts, sections
from meshlens.text import Edit, Span, difference

_MOST_REMEMBERED, _MOST_BYTES = 200, 50_000
"""Maximum number of remembered shapes, and of bytes in their blocks; a shape takes thirty times its block's size."""

_LONG = 3_000
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a file with data that speeds up reading the next version of it.

    Attributes:
        source: the bytes.
        text: the bytes, made readable.
        facts: the facts of the text.
        unsure: the blocks whose bytes might be read differently elsewhere.
        memo: the shapes of recent blocks, by the bytes of the block.
        tree: a syntax tree.
        parsed: the text from which the tree was parsed, perhaps an earlier one.
        sections: where the text can be split; None if not yet computed.
        earlier: the texts before the last edits, to which the next edit may return, latest first.
    """

    source: bytes
    text: bytes
    facts: FileFacts
    unsure: frozenset[str]
    memo: Memo
    tree: Tree
    parsed: bytes
    sections: Sections | None = None
    earlier: tuple[Earlier, ...] = ()


def read(source: bytes) -> Reading:
    """Reads source text from scratch."""
    text = readable(source)
    tree = parse_again(text)
    facts, unsure = facts_of(text, tree.root_node, {})
    return Reading(source, text, facts, unsure, {}, tree, text)


def read_again(before: Reading, edits: Sequence[Edit]) -> Reading:
    """Rereads source text after successive edits, parsing only the edited statements if possible.

    Args:
        before: the text before.
        edits: the edits; the span of each refers to the text after the previous edits.

    Raises:
        ValueError: an edit is outside the text.
    """
    source = before.source
    change: Change | None = None
    for edit in edits:
        if not 0 <= edit.span.start <= edit.span.end <= len(source):
            raise ValueError(f"an edit is outside the text, at byte {edit.span.start}")
        new = edit.text.encode("utf-8", "replace")
        made = b"".join((source[: edit.span.start], new, source[edit.span.end :]))
        start, end = edit.span
        if b"\r" in made or b"\r" in source:
            # Whether a carriage return ends a line depends on the byte after it.
            start, end = max(start - 1, 0), min(end + 1, len(source))
        made_by = Change(start, end, end + len(made) - len(source))
        change = made_by if change is None else change.followed_by(made_by)
        source = made
    if change is None:
        return before
    if len(before.memo) > _MOST_REMEMBERED or sum(map(len, before.memo)) > _MOST_BYTES:
        for label in list(islice(before.memo, (len(before.memo) + 1) // 2)):
            before.memo.pop(label, None)
    is_plain = before.text is before.source
    text = readable_again(source, change.start, change.end) if is_plain else readable(source)
    if is_cut(source, text) or is_cut(before.source, before.text):
        # An edit may change the indentation of lines that it does not touch.
        return read(source)
    known = before.sections or sections_of(before.text, before.facts)
    earlier = [one.followed_by(change) for one in before.earlier]
    if not before.unsure or leaves_a_hole(before.facts):
        earlier.insert(0, Earlier(before.text, before.facts, known, change))
    for one in earlier:
        typed = statement_again(one.text, text, one.facts, one.change, one.sections)
        if typed is not None:
            return Reading(
                source,
                text,
                typed[0],
                _broken_around(typed[0]),
                before.memo,
                before.tree,
                before.parsed,
                typed[1],
                kept(earlier, typed[0]),
            )
    again = _read_again(before, source, text, change, known)
    facts = with_old_spot(with_spot(again.facts, before.facts), earlier)
    if not again.unsure or len(facts.broken) == 1:
        facts = with_new_spot(text, facts, before.facts, change)
    return replace(again, facts=facts, earlier=kept(earlier, facts))


def _broken_around(facts: FileFacts) -> frozenset[str]:
    """Returns the blocks that contain the edited statement if no other code is broken; otherwise an empty set."""
    if not facts.broken or facts.spot is None:
        return _NONE
    key = facts.spot.key
    return frozenset([key, *[outer for outer in facts.blocks if key.startswith(f"{outer}.")]])


def _read_again(before: Reading, source: bytes, text: bytes, change: Change, known: Sections) -> Reading:
    window = window_of(text, known, len(before.text), change)
    if not before.unsure and (window is None or window.end - window.begin > _LONG):
        method = method_again(before.text, text, before.facts, before.memo, change, known)
        if method is not None:
            return replace(before, source=source, text=text, facts=method[0], sections=method[1])
    seen = _window_again(before, text, change, known, window) if window is not None else None
    if seen is not None and window is not None:
        after = sections_after(known, window, [seen.facts.blocks[key] for key in seen.middle])
        # If a statement continues into what looks like the next one, parsing may depend on the context.
        if after is not None or seen.facts.broken:
            return Reading(source, text, seen.facts, seen.unsure, before.memo, before.tree, before.parsed, after)
    tree = _tree_again(before, text)
    root = tree.root_node
    if root.has_error:
        facts, unsure = _facts_apart_again(before, text, change)
        return Reading(source, text, facts, unsure, before.memo, tree, text)
    facts, unsure = _facts_again(before, text, root, change)
    after = None
    if window is not None and not before.facts.broken:
        tops = [facts.blocks[key] for key in facts.top]
        low, high = (bisect_left(tops, at, key=_start) for at in (window.begin, window.end))
        after = sections_after(known, window, tops[low:high])
    return Reading(source, text, facts, unsure, before.memo, tree, text, after)


def resume(source: bytes, facts: FileFacts) -> Reading:
    """Returns the result of `read` for a text with known facts."""
    if facts.broken:
        return read(source)
    text = readable(source)
    return Reading(source, text, facts, frozenset(), {}, parse_again(text), text)


def whole_edit(before: bytes, after: bytes) -> Edit | None:
    """Returns a single edit from one text to another; None if the bytes are not UTF-8."""
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


@dataclass(frozen=True, slots=True)
class _Window:
    """The result of reading one window: the facts of the whole text, and the statements in the window."""

    facts: FileFacts
    unsure: frozenset[str]
    middle: list[str]


def _window_again(before: Reading, text: bytes, change: Change, known: Sections, window: Window) -> _Window | None:
    """Returns the facts of a source text after reading only a window; None if that is not enough."""
    old = before.facts
    if any(span.start < window.begin or span.end > window.old_end for span in old.broken):
        return None
    tops = [old.blocks[key] for key in old.top]
    first, last = (bisect_left(tops, at, key=_start) for at in (window.begin, window.old_end))
    if not (before.unsure.isdisjoint(old.top[:first]) and before.unsure.isdisjoint(old.top[last:])):
        return None
    splice = Splice(old, before.unsure, change, first, len(tops) - last)
    begin, end = splice.region(len(before.text))
    if speaks(text, begin, end + change.by) or speaks(before.text, begin, end):
        return None
    found = read_apart(text, window, known.apart)
    if found is None:
        return None
    extraction = Extraction(text, before.memo, known=splice.untouched())
    middle = [key for section in found for key in extraction.add_section(section)]
    made = splice.joined(middle, extraction)
    if made is None:
        return None
    silenced = splice.suppressions((), _rows(before, text, change))
    return _Window(
        FileFacts(made.top, made.blocks, silenced, old.devices, tuple(extraction.errors), since=made.since),
        made.unsure,
        middle,
    )


def _tree_again(before: Reading, text: bytes) -> Tree:
    """Returns the syntax tree, updated from the last one."""
    start, end = difference(before.parsed, text)
    by = len(text) - len(before.parsed)
    return parse_again(text, edited(before.tree, before.parsed, start, end, text[start : end + by]))


def _start(block: Block) -> int:
    return block.start


def _facts_again(before: Reading, text: bytes, root: Node, change: Change) -> tuple[FileFacts, frozenset[str]]:
    old = before.facts
    tops = [old.blocks[key] for key in old.top]
    nodes = items(root)
    first = same_from_the_start(tops, nodes, before.unsure, change)
    rest = same_to_the_end(tops, nodes, before.unsure, change, first)
    splice = Splice(old, before.unsure, change, first, rest)
    extraction = Extraction(text, before.memo, known=splice.untouched())
    middle = [extraction.add(node, "") for node in nodes[first : len(nodes) - rest]]
    made = splice.joined(middle, extraction)
    if made is None:
        return facts_of(text, root, before.memo)
    begin, end = splice.region(len(before.text))
    tree = tree_of(text, root)
    if may_say_devices(text, begin, end + change.by) or may_say_devices(before.text, begin, end):
        found, devices = suppressions_in(text, tree)
    else:
        devices = old.devices
        found, _ = suppressions_between(text, tree, begin, end + change.by)
        found = splice.suppressions(found, _rows(before, text, change))
    return FileFacts(made.top, made.blocks, found, devices, since=made.since), made.unsure


def _facts_apart_again(before: Reading, text: bytes, change: Change) -> tuple[FileFacts, frozenset[str]]:
    """Returns the facts of a source text with errors, reading only the sections that the change or an error touches."""
    old = before.facts
    starts = section_starts(text)
    number = max(bisect_left(starts, change.start) - 1, 0)
    if old.broken:
        number = min(number, max(bisect_right(starts, old.broken[0].start) - 1, 0))
    limit = change.end + 1
    if old.broken and old.broken[-1].end >= change.start:
        limit = max(limit, old.broken[-1].end + max(change.by, 0) + 1)
    tops = [old.blocks[key] for key in old.top]
    begins = [block.start for block in tops]
    begin = starts[number]
    first = bisect_left(begins, begin)
    if old.devices is not None or not before.unsure.isdisjoint(old.top[:first]):
        return facts_apart(text, before.memo)
    splice = Splice(old, before.unsure, change, first, 0)
    extraction = Extraction(text, before.memo, known=splice.untouched())
    middle: list[str] = []
    end = begin
    for section in sections(text, starts, number):
        middle += extraction.add_section(section)
        end = section.end
        last = bisect_left(begins, end - change.by) - 1
        if end >= limit and (last < 0 or end_of(tops[last]) + change.by <= end):
            break
    rest = len(tops) - bisect_left(begins, end - change.by)
    splice = replace(splice, rest=rest)
    made = splice.joined(middle, extraction)
    region = splice.region(len(before.text))
    behind = bisect_left(starts, end)
    if (
        made is None
        or speaks(text, region[0], region[1] + change.by)
        or not are_apart(tops[:first], starts[:number], begin, 0)
        or not are_apart(tops[len(tops) - rest :], starts[behind:], len(text), change.by)
        or not before.unsure.isdisjoint(old.top[len(tops) - rest :])
    ):
        return facts_apart(text, before.memo)
    found = splice.suppressions((), _rows(before, text, change))
    return FileFacts(made.top, made.blocks, found, None, tuple(extraction.errors), since=made.since), made.unsure


def _rows(before: Reading, text: bytes, change: Change) -> int:
    return text.count(b"\n", change.start, change.end) - before.text.count(b"\n", change.start, change.old_end)
