"""Finds the span that an edit affects and that can be read separately from the rest of the source text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from meshlens.facts.editing.splicing import Change
from meshlens.facts.model import Block, FileFacts
from meshlens.syntax.sections import Section, is_closed, section_of, section_starts, sections, starts_between

_LONGEST = 16_000
_LONGEST_WORD = 8
_STRING = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?!"")(?:[^"\\\n]|\\.)*(?:"|$)|' + rb"'(?!'')(?:[^'\\\n]|\\.)*(?:'|$)|#[^\n]*",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Sections:
    """The places where a source text can be split.

    Attributes:
        starts: the starts of its sections, without those inside a statement.
        apart: whether source with errors is split there as well.
    """

    starts: Sequence[int]
    apart: bool


@dataclass(frozen=True, slots=True)
class Window:
    """The sections that an edit touches.

    Attributes:
        begin: their start, which the edit does not move.
        old_end: their old end.
        end: their new end.
        starts: their new starts.
        rest: the new starts of the sections before and after them.
    """

    begin: int
    old_end: int
    end: int
    starts: list[int]
    rest: tuple[list[int], list[int]]


def sections_of(text: bytes, facts: FileFacts) -> Sections:
    """Returns where a source text with known facts can be split."""
    every = section_starts(text)
    starts = _between_statements([facts.blocks[key] for key in facts.top], every)
    if len(starts) == len(every):
        return Sections(starts, apart=True)
    ends = [*starts[1:], len(text)]
    return Sections(starts, all(_is_joined(text, every, *ends_of) for ends_of in zip(starts, ends, strict=True)))


def window_of(text: bytes, before: Sections, length: int, change: Change) -> Window | None:
    """Returns the sections that an edit touches; None if later sections may begin elsewhere now.

    Args:
        text: the text after the edit.
        before: the sections of the text before.
        length: the length of the text before.
        change: the edit.
    """
    starts, by = before.starts, change.by
    low = max(bisect_left(starts, change.start - _LONGEST_WORD) - 1, 0)
    high = bisect_right(starts, change.old_end)
    old_end = starts[high] if high < len(starts) else length
    begin, end = starts[low], old_end + by
    local, decorates = starts_between(text, begin, end)
    if decorates and high < len(starts):
        return None
    behind = [start + by for start in starts[high:]] if by else list(starts[high:])
    return Window(begin, old_end, end, local, (list(starts[:low]), behind))


def read_apart(text: bytes, window: Window, apart: bool) -> list[Section] | None:
    """Returns the parsed sections of a window; None if they may differ from those in the whole text.

    A window without errors is one section. If the window has an error, so does the whole text, unless a string or a
    line continues after the window.

    Args:
        text: the text.
        window: a span of it.
        apart: whether source with errors is split at both ends of the window.
    """
    if window.end - window.begin > _LONGEST:
        return None
    if text[window.begin : window.end].rstrip(b" \t\r\n\f").endswith(b"\\"):
        return None
    whole = section_of(text, window.begin, window.end)
    if not whole.root.has_error:
        return [whole]
    if not apart or not _ends(text[window.begin : window.end]) or _goes_on(text, window):
        return None
    if len(window.starts) == 1 and is_closed(text, window.begin, window.end):
        return [whole]
    found: list[Section] = []
    for section in sections(text, [*window.starts, window.end]):
        if section.end > window.end or (section.root.has_error and not is_closed(text, section.start, section.end)):
            return None
        found.append(section)
        if section.end == window.end:
            break
    return found


def sections_after(before: Sections, window: Window, tops: Sequence[Block]) -> Sections | None:
    """Returns the sections of the text after an edit; None if they must be computed again.

    Args:
        before: the sections before.
        window: the window of the edit.
        tops: the statements in the window.
    """
    if len(_between_statements(tops, window.starts)) != len(window.starts) or (tops and end_of(tops[-1]) > window.end):
        return None
    head, tail = window.rest
    return Sections([*head, *window.starts, *tail], before.apart)


def end_of(block: Block) -> int:
    """Returns the end of a block in its file."""
    return block.end


def _between_statements(tops: Sequence[Block], starts: Sequence[int]) -> list[int]:
    """Returns the starts that are not inside a statement."""
    kept: list[int] = []
    at = 0
    for start in starts:
        while at < len(tops) and end_of(tops[at]) <= start:
            at += 1
        if at == len(tops) or tops[at].start >= start:
            kept.append(start)
    return kept


def _is_joined(text: bytes, every: Sequence[int], start: int, end: int) -> bool:
    """Returns whether a section that contains other starts must be read whole because of its quotes."""
    first = bisect_right(every, start)
    inside = [*every[first : bisect_left(every, end)], end]
    return is_closed(text, start, end) and not any(is_closed(text, start, one) for one in inside[:-1])


def _goes_on(text: bytes, window: Window) -> bool:
    """Returns whether the section after a window completes an incomplete statement in it."""
    behind = window.rest[1]
    if not behind:
        return False
    end = behind[1] if len(behind) > 1 else len(text)
    return not section_of(text, window.starts[-1], end).root.has_error


def _ends(stretch: bytes) -> bool:
    """Returns whether every string that begins in a span also ends there."""
    rest = _STRING.sub(b"", stretch)
    return b'"' not in rest and b"'" not in rest
