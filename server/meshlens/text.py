"""Bytes, lines and edits: offsets count UTF-8 bytes, and only this module computes columns in other encodings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

_LINE_ENDS = re.compile(rb"\n")


class Span(NamedTuple):
    """A half-open range of UTF-8 byte offsets."""

    start: int
    end: int

    def contains(self, other: Span) -> bool:
        """Returns whether the other span is inside this one."""
        return self.start <= other.start and other.end <= self.end


class Edit(NamedTuple):
    """A replacement of the bytes of a span with text; an insertion if the span is empty."""

    span: Span
    text: str


class FileEdit(NamedTuple):
    """An edit in a named file."""

    path: Path
    edit: Edit


class LineIndex:
    """Finds lines and columns in one text.

    Lines end at `\\n`, `\\r\\n` or `\\r`, and are numbered from 0, as in LSP.
    """

    __slots__ = ("_behind", "_shift", "_starts", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._starts: list[int] | None = None
        # From this line on, lines start this many bytes later than in the table.
        self._behind, self._shift = 0, 0

    @property
    def starts(self) -> list[int]:
        """Returns the start of each line, computed on first use."""
        starts = self._table()
        if self._shift:
            behind, shift = self._behind, self._shift
            starts = self._starts = starts[:behind] + [start + shift for start in starts[behind:]]
            self._shift = 0
        return starts

    def _table(self) -> list[int]:
        if self._starts is None:
            starts = list(accumulate(map(len, self.source.splitlines(True)), initial=0))
            if len(starts) > 1 and self.source[-1] not in b"\r\n":
                starts.pop()
            self._starts = starts
        return self._starts

    def edited(self, edit: Edit, source: bytes) -> LineIndex:
        """Returns the index of the text after an edit; if possible, does not scan the unchanged text again.

        Args:
            edit: an edit of this text.
            source: the text after the edit.
        """
        new = edit.text.encode("utf-8", "replace")
        if b"\r" in new or b"\r" in self.source:
            return LineIndex(source)
        start, end = edit.span
        first, last = self.line_of(start) + 1, self.line_of(end) + 1
        shift = len(new) - (end - start)
        index = LineIndex(source)
        if first == last and b"\n" not in new and (not self._shift or self._behind == first):
            index._starts, index._behind, index._shift = self._starts, first, self._shift + shift
            return index
        ends = [start + found.end() for found in _LINE_ENDS.finditer(new)]
        behind = self.starts[last:]
        index._starts = self.starts[:first] + ends + ([offset + shift for offset in behind] if shift else behind)
        return index

    def line_of(self, offset: int) -> int:
        """Returns the line, from 0, that contains a byte offset."""
        starts, behind, shift = self._table(), self._behind, self._shift
        if not shift:
            return bisect_right(starts, offset) - 1
        if behind < len(starts) and starts[behind] + shift <= offset:
            return bisect_right(starts, offset - shift, behind) - 1
        return bisect_right(starts, offset, 0, behind) - 1

    def _start(self, line: int) -> int:
        start = self._table()[line]
        return start + self._shift if line >= self._behind else start

    def position(self, offset: int, encoding: str = "utf-32") -> tuple[int, int]:
        """Returns the line and column, both from 0, of a byte offset.

        Args:
            offset: UTF-8 byte offset.
            encoding: the encoding in whose units columns are counted: "utf-8", "utf-16" or "utf-32".
        """
        line = self.line_of(offset)
        head = self.source[self._start(line) : offset]
        return line, _units(head, encoding)

    def offset(self, line: int, column: int, encoding: str = "utf-32") -> int:
        """Returns the byte offset of a line and column, clipped to the line's end."""
        if line >= len(self._table()):
            return len(self.source)
        line, column = max(line, 0), max(column, 0)
        start = self._start(line)
        text = self.line_text(line)
        if encoding == "utf-8" or text.isascii():
            return start + min(column, len(text))
        if encoding == "utf-16":
            return start + _bytes_of_units(text, column)
        return start + len(text.decode("utf-8", "replace")[:column].encode())

    def line_text(self, line: int) -> bytes:
        """Returns the bytes of a line without its line ending."""
        start = self._start(line)
        end = self._start(line + 1) if line + 1 < len(self._table()) else len(self.source)
        return self.source[start:end].rstrip(b"\r\n")


def joined(source: bytes, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Returns edits with related ones merged: those on the same line, and those that open and close a bracket.

    An editor previews each edit separately, and accepting only one bracket of a pair is useless.
    """
    made: list[Edit] = []
    group: list[Edit] = []
    waiting = sorted(edits, key=lambda edit: edit.span)
    for number, edit in enumerate(waiting):
        group.append(edit)
        following = waiting[number + 1 :]
        if following and (_on_one_line(source, group, following[0]) or _closes(source, group, following)):
            continue
        made.append(_as_one(source, group))
        group = []
    return tuple(made)


def _on_one_line(source: bytes, group: list[Edit], following: Edit) -> bool:
    last = group[-1]
    inserts_line = last.text.endswith("\n") or following.text.startswith("\n")
    return b"\n" not in source[last.span.end : following.span.start] and not inserts_line


def _closes(source: bytes, group: list[Edit], following: list[Edit]) -> bool:
    """Returns whether a group of edits opens a bracket that a later edit closes."""
    depth = sum(_opened(source, edit) for edit in group)
    return depth > 0 and any(total <= 0 for total in accumulate((_opened(source, e) for e in following), initial=depth))


def _opened(source: bytes, edit: Edit) -> int:
    """Returns how many more brackets are open after an edit than before it."""
    new, old = edit.text.encode(), source[slice(*edit.span)]
    return sum(new.count(one) - old.count(one) for one in (b"(", b"[", b"{")) - sum(
        new.count(one) - old.count(one) for one in (b")", b"]", b"}")
    )


def _as_one(source: bytes, group: list[Edit]) -> Edit:
    start, end = group[0].span.start, group[-1].span.end
    parts: list[str] = []
    at = start
    for edit in group:
        parts += [source[at : edit.span.start].decode("utf-8", "replace"), edit.text]
        at = edit.span.end
    return Edit(Span(start, end), "".join(parts))


def apply(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Returns the text after all edits, which must not overlap.

    Raises:
        ValueError: two edits overlap, or one is outside the text.
    """
    out: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.span.start, e.span.end)):
        if edit.span.start < at or edit.span.end > len(source):
            raise ValueError(f"edits overlap at byte {edit.span.start}")
        out.append(source[at : edit.span.start])
        out.append(edit.text.encode())
        at = edit.span.end
    out.append(source[at:])
    return b"".join(out)


def applied(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Returns the text after edits, first converting their line endings to those of the text.

    Raises:
        ValueError: two edits overlap, or one is outside the text.
    """
    return apply(source, with_line_ends(source, edits))


def with_line_ends(source: bytes, edits: Iterable[Edit]) -> list[Edit]:
    """Returns edits with the line endings of the text that they change."""
    if source.count(b"\r\n") * 2 <= source.count(b"\n"):
        return list(edits)
    return [Edit(span, text.replace("\r\n", "\n").replace("\n", "\r\n")) for span, text in edits]


def difference(before: bytes, after: bytes) -> Span:
    """Returns the smallest span of `before` that must be replaced to get `after`."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, min(len(before), len(after)) - start
    while low < high:
        middle = (low + high + 1) // 2
        same = before[len(before) - middle : len(before) - low] == after[len(after) - middle : len(after) - low]
        if same:
            low = middle
        else:
            high = middle - 1
    return Span(start, len(before) - low)


def _bytes_of_units(text: bytes, count: int) -> int:
    """Returns how many bytes of UTF-8 contain this many UTF-16 units; a partial character counts as a whole one."""
    units = text.decode("utf-8", "replace").encode("utf-16-le")
    end = 2 * count
    if end < len(units) and units[end + 1] & 0xFC == 0xDC:
        end += 2
    return len(units[:end].decode("utf-16-le").encode())


def _units(head: bytes, encoding: str) -> int:
    if encoding == "utf-8" or head.isascii():
        return len(head)
    text = head.decode("utf-8", "replace")
    if encoding == "utf-16":
        return len(text) + sum(ord(character) > 0xFFFF for character in text)
    return len(text)
