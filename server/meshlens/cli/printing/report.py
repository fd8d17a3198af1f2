"""Findings in the form shown to users: rows, columns and cells instead of bytes; plain data for all formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from meshlens.text import LineIndex, Span

if TYPE_CHECKING:
    from meshlens.checking.model import Diagnosed
    from meshlens.project.notebooks.notebook import Notebook

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file.

    Attributes:
        path: the absolute path.
        cell: the number of the notebook cell, from 1, if any; rows are then relative to the cell.
        start, end: row and column, from 1; columns count characters.
    """

    path: str
    cell: int | None
    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def shown(self) -> str:
        """Returns the file's path, relative to the working directory if the file is in it."""
        return shown_path(self.path)


@dataclass(frozen=True, slots=True)
class ReportedFix:
    """A fix.

    Attributes:
        title: the title.
        safety: "safe", "unsafe" or "suggestion".
        why: the reason why the fix is unsafe, if it is.
        edits: places and their new texts.
    """

    title: str
    safety: str
    why: str
    edits: tuple[tuple[Place, str], ...]


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding.

    Attributes:
        code, name, severity, message: as given by the rule.
        place: the marked place.
        fix: the best fix.
        related: places that explain it, with a text for each.
    """

    code: str
    name: str
    severity: str
    message: str
    place: Place
    fix: ReportedFix | None
    related: tuple[tuple[str, Place], ...]


class Unparsed(NamedTuple):
    """A file with a syntax error.

    Attributes:
        path: the absolute path.
        cell: the number of the notebook cell, from 1, if any; the row is then relative to the cell.
        row: the row of the error, from 1.
        reason: Python's message; empty if Python accepts the file and only our grammar cannot read it.
    """

    path: str
    cell: int | None
    row: int
    reason: str

    @property
    def line(self) -> str:
        """Returns the syntax error as one line."""
        cell = f"cell {self.cell}:" if self.cell is not None else ""
        said = f"syntax error ({self.reason})" if self.reason else "syntax that MeshLens cannot read"
        return f"{shown_path(self.path)}:{cell}{self.row}: {said}; the file was not checked in full"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one run.

    Attributes:
        findings: the findings, by path and position.
        files: the number of checked files.
        fixed: the number of repaired findings, by code.
        lines: returns the lines of a file, or of one of its cells, without line endings.
        problems: one line for each problem.
        failures: one line for each internal error; findings elsewhere remain valid.
        notes: sentences that state the assumptions of the findings.
        baselined: the number of findings silenced by the baseline.
        unread: the number of files that could not be read at all.
        unparsed: the files with syntax errors.
    """

    findings: tuple[Reported, ...]
    files: int
    lines: Callable[[str, int | None], list[str]]
    fixed: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    baselined: int = 0
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: int = 0
    unparsed: tuple[Unparsed, ...] = ()


class Places:
    """Converts spans to places, indexing the lines of each file only once."""

    def __init__(self, source_of: Callable[[Path], tuple[bytes, Notebook | None]]) -> None:
        self._source_of = source_of
        self._known: dict[Path, tuple[LineIndex, Notebook | None]] = {}

    def place(self, path: Path, span: Span) -> Place:
        """Returns the place of a span in a file."""
        known = self._known.get(path)
        if known is None:
            source, notebook = self._source_of(path)
            known = self._known[path] = (LineIndex(source), notebook)
        lines, notebook = known
        first = 0
        cell = notebook.cell_at(span.start) if notebook is not None else None
        if cell is not None:
            first = lines.line_of(cell.span.start)
        start, end = (_one_based(lines, offset, first) for offset in span)
        return Place(str(path), cell.index + 1 if cell is not None else None, start, end)

    def reported(self, diagnosed: Diagnosed) -> Reported:
        """Returns a finding in the form shown to users."""
        finding = diagnosed.finding
        fix = None
        if finding.fixes:
            best = finding.fixes[0]
            edits = tuple((self.place(edit.path, edit.edit.span), edit.edit.text) for edit in best.edits)
            fix = ReportedFix(best.title, best.safety, best.why, edits)
        related = tuple((one.message, self.place(one.path, one.span)) for one in finding.related)
        place = self.place(diagnosed.path, finding.span)
        severity = diagnosed.severity.value
        return Reported(diagnosed.code, diagnosed.name, severity, finding.message, place, fix, related)


def _one_based(lines: LineIndex, offset: int, first: int) -> tuple[int, int]:
    line, column = lines.position(offset)
    if line == 0 and offset >= len(_BOM) and lines.source.startswith(_BOM):
        column -= 1
    return line - first + 1, column + 1


def shown_path(path: str) -> str:
    """Returns a path, relative to the working directory if it is in that folder."""
    here = os.getcwd().rstrip(os.sep) + os.sep
    return path[len(here) :] if path.startswith(here) else path


def in_order(findings: Iterable[Reported]) -> tuple[Reported, ...]:
    """Returns findings sorted by file, cell and position."""
    return tuple(
        sorted(
            findings, key=lambda one: (one.place.path, one.place.cell or 0, one.place.start, one.place.end, one.code)
        )
    )


def packed(findings: Iterable[Reported]) -> tuple[Any, ...]:
    """Returns findings as nested tuples of plain values."""
    return tuple(astuple(finding) for finding in findings)


def unparsed_in(data: Any) -> tuple[Unparsed, ...]:
    """Returns the files with syntax errors that JSON data describes.

    Raises:
        ValueError, TypeError: the data is invalid.
    """
    return tuple([_unparsed(*_list(one)) for one in _list(data)])


def _unparsed(path: Any, cell: Any, row: Any, reason: Any) -> Unparsed:
    return Unparsed(_text(path), None if cell is None else _number(cell), _number(row), _text(reason))


def unpacked(data: Any) -> tuple[Reported, ...]:
    """Returns findings from the result of `packed`, after a round trip through JSON.

    Raises:
        ValueError, TypeError: the data is invalid.
    """
    return tuple([_finding(one) for one in _list(data)])


def _finding(data: Any) -> Reported:
    code, name, severity, message, place, fix, related = _list(data)
    places = tuple([(_text(text), _place(*_list(at))) for text, at in map(_list, _list(related))])
    words = (_text(code), _text(name), _text(severity), _text(message))
    return Reported(*words, _place(*_list(place)), _fix(fix), places)


def _fix(data: Any) -> ReportedFix | None:
    if data is None:
        return None
    title, safety, why, edits = _list(data)
    made = tuple([(_place(*_list(place)), _text(text)) for place, text in map(_list, _list(edits))])
    return ReportedFix(_text(title), _text(safety), _text(why), made)


def _place(path: Any, cell: Any, start: Any, end: Any) -> Place:
    return Place(_text(path), None if cell is None else _number(cell), _position(*_list(start)), _position(*_list(end)))


def _position(row: Any, column: Any) -> tuple[int, int]:
    return _number(row), _number(column)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a string")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("not a row or column number")
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError("not a list")
    return value
