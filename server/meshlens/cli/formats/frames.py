"""Source frames: lines of code with marks that align on screen whatever the width of the characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from meshlens.cli.printing.report import Place
from meshlens.cli.printing.visible import picture_of, visible

Line = list[tuple[str, str]]
"""A line of output: texts with their styles."""

_TAB = 4
_LONGEST = 6
_STYLES = {"^": "mark", "-": "note"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked place.

    Attributes:
        place: the place.
        sign: "^" for the finding itself, "-" for a related place.
        label: the text next to the sign.
    """

    place: Place
    sign: str
    label: str

    @property
    def rows(self) -> tuple[int, int]:
        """Returns the first and last row; an end at the start of a line counts as the end of the previous line."""
        first, last = self.place.start[0], self.place.end[0]
        return first, last - 1 if last > first and self.place.end[1] == 1 else last


def width(text: str) -> int:
    """Returns the number of columns that a text takes up on a terminal."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def frame(lines: Sequence[str], marks: Sequence[Mark], gutter: int, room: int) -> list[Line]:
    """Returns the frame of several places in one file.

    Args:
        lines: the file, or the notebook cell.
        marks: the marks, most important first.
        gutter: the width of the row numbers.
        room: the maximum number of columns for the code.
    """
    tall = next((mark for mark in marks if mark.rows[1] > mark.rows[0]), None)
    out: list[Line] = [_edge(gutter)]
    before = 0
    for row in _rows(lines, marks):
        if before and row > before + 1:
            out.append([(f"{'':{gutter}} ", ""), ("⋮", "edge")])
        before = row
        text = lines[row - 1] if row <= len(lines) else ""
        here = [mark for mark in marks if mark.place.start[0] == row and mark is not tall]
        view = _view(text, [mark.place.start[1] for mark in [*here, *([tall] if tall else [])]], room)
        bar: tuple[str, str] = ("", "")
        if tall is not None:
            inside = tall.rows[0] < row <= tall.rows[1]
            bar = ("│ " if inside else "  ", _STYLES[tall.sign])
        out.append([(f"{row:>{gutter}} ", "edge"), ("│ ", "edge"), bar, (view.text, "code")])
        for mark in here:
            out += [[*_edge(gutter), (" ", ""), bar, *line] for line in _underline(view, mark, row, room)]
        if tall is not None and row == tall.rows[0]:
            start = view.column(tall.place.start[1])
            out.append([*_edge(gutter), (f" ┌{'─' * (start + 1)}{tall.sign}", _STYLES[tall.sign])])
        if tall is not None and row == tall.rows[1]:
            end = view.column(max(tall.place.end[1], 2)) if tall.place.end[0] == row else width(view.text)
            line = f" └{'─' * max(end, 1)}{tall.sign} {visible(tall.label)}".rstrip()
            out.append([*_edge(gutter), (line, _STYLES[tall.sign])])
    return out


def _edge(gutter: int) -> Line:
    return [(f"{'':{gutter}} │", "edge")]


def _rows(lines: Sequence[str], marks: Sequence[Mark]) -> list[int]:
    rows: set[int] = set()
    for mark in marks:
        first, last = mark.rows
        rows |= {first, last}
        if last - first < _LONGEST:
            rows.update(range(first, last + 1))
        else:
            rows |= {first + 1, first + 2, last - 1}
        if mark.sign == "^" and first > 1 and lines[first - 2 : first - 1] and lines[first - 2].strip():
            rows.add(first - 1)
    # Omitting a single line would save no space, because the sign for omitted lines takes up a line itself.
    return sorted(rows | {row + 1 for row in rows if row + 2 in rows})


@dataclass(frozen=True, slots=True)
class _View:
    """A line as displayed: a window onto it, with tabs expanded.

    Attributes:
        text: the displayed text.
        before: the number of characters that are cut off on the left and have no screen column.
        columns: the screen column of each character after those.
    """

    text: str
    before: int
    columns: tuple[int, ...]

    def column(self, column: int) -> int:
        """Returns the screen column, counted from 0, of a source column, counted from 1."""
        return self.columns[min(max(column - 1 - self.before, 0), len(self.columns) - 1)]


def _view(text: str, wanted: Sequence[int], room: int) -> _View:
    place = max(min(wanted, default=1) - 1, 0)
    before = max(place - room, 0) if len(text) > 4 * room else 0
    part = text[before : before + 4 * room]
    columns = [0]
    pieces = []
    for character in part:
        piece = " " * (_TAB - columns[-1] % _TAB) if character == "\t" else picture_of(character)
        pieces.append(piece)
        columns.append(columns[-1] + width(piece))
    if len(part) == len(text) and columns[-1] <= room:
        return _View("".join(pieces).rstrip(), 0, tuple(columns))
    start = columns[min(place - before, len(part))]
    left = 0 if start < room * 2 // 3 and not before else start - room // 3
    first = next((place for place, column in enumerate(columns) if column >= left), len(part))
    last = max((place for place, column in enumerate(columns) if column <= columns[first] + room), default=first)
    head = "…" if before + first else ""
    tail = "…" if before + last < len(text) else ""
    shift = columns[first] - len(head)
    shown = head + "".join(pieces[first:last]) + tail
    ends = columns[last] - shift
    return _View(shown.rstrip(), before, tuple(min(max(column - shift, 0), ends) for column in columns))


def _underline(view: _View, mark: Mark, row: int, room: int) -> list[Line]:
    start = view.column(mark.place.start[1])
    goes_on = mark.place.end[0] != row
    end = width(view.text) if goes_on else view.column(mark.place.end[1])
    sign = mark.sign * max(end - start, 1) + ("…" if goes_on else "")
    line: Line = [(" " * start, ""), (sign, _STYLES[mark.sign])]
    label = (visible(mark.label), _STYLES[mark.sign])
    if not mark.label:
        return [line]
    if start + width(sign) + 1 + width(label[0]) <= room:
        return [[*line, (" ", ""), label]]
    return [line, [(" " * max(min(start, room - width(label[0])), 0), ""), label]]


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
