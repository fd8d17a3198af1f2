"""Notebooks: the code cells, in order, as one module; edits to that module are applied to the JSON text.

The JSON text is never rewritten as a whole: only the `source` values of edited cells are replaced, so that outputs,
metadata, indentation and line endings stay unchanged, byte for byte.
"""

from __future__ import annotations

import itertools
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from meshlens.project.notebooks.magics import without_magics
from meshlens.text import Edit, Span, apply

_BOM = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_NON_ASCII_ESCAPE = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_NO_CELLS = "not a notebook: it has no list of cells"


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its index among all cells (from 0), its span in the module, and its text."""

    index: int
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as one module.

    Attributes:
        source: the text of the code cells with magics blanked out, and a newline after each cell.
        cells: the code cells in order.
        raw: the JSON text, empty if there is none.
        values: the span of each code cell's text in the JSON text, in characters.
    """

    source: bytes
    cells: tuple[Cell, ...]
    raw: str = ""
    values: tuple[Span, ...] = ()

    def cell_at(self, offset: int) -> Cell | None:
        """Returns the cell at a byte offset of the module."""
        place = bisect_right([cell.span.start for cell in self.cells], offset) - 1
        return self.cells[place] if place >= 0 else None

    def row_in_file(self, index: int, row: int) -> int:
        """Returns the row of the JSON text in which a row of a code cell is written; rows are counted from 1.

        Args:
            index: the index of the cell among all cells.
            row: a row of its text.
        """
        found = (value for cell, value in zip(self.cells, self.values, strict=True) if cell.index == index)
        value = next(found, None)
        if value is None:
            return 1
        at, next_row = value.start, 1
        for item in _items(self.raw, value.start):
            if next_row > row:
                break
            at = item.start
            next_row += str(json.loads(self.raw[item.start : item.end])).count("\n")
        return self.raw.count("\n", 0, at) + 1

    def with_edits(self, edits: Iterable[Edit]) -> bytes:
        """Returns the notebook's bytes after edits to the module.

        Raises:
            ValueError: an edit crosses a cell boundary, or two edits overlap.
        """
        by_cell: dict[int, list[Edit]] = {}
        for edit in edits:
            cell = self.cell_at(edit.span.start)
            # The newline after a cell belongs to the module, not to the cell.
            if cell is None or edit.span.end > cell.span.end + 1:
                raise ValueError("an edit crosses a cell boundary")
            start, end = (min(offset, cell.span.end) - cell.span.start for offset in edit.span)
            by_cell.setdefault(cell.index, []).append(Edit(Span(start, end), edit.text))
        out = self.raw
        for cell, value in zip(reversed(self.cells), reversed(self.values), strict=True):
            if cell.index in by_cell:
                text = apply(cell.text.encode(), by_cell[cell.index]).decode()
                out = out[: value.start] + _written(out[value.start : value.end], text) + out[value.end :]
        return out.encode()


def read_notebook(raw: bytes) -> Notebook:
    """Parses an `.ipynb` file.

    Raises:
        ValueError: it is not UTF-8, not JSON, or not a notebook.
    """
    try:
        text = raw.decode("utf-8")
        document = json.loads(text.removeprefix(_BOM))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not a notebook: {error.msg} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not a notebook: nested too deeply") from error
    if not isinstance(document, dict):
        raise ValueError(_NO_CELLS)
    if _language(document) != "python":
        return Notebook(b"", ())
    texts: list[tuple[int, str]] = []
    values = []
    for index, members in enumerate(_cells(text)):
        source = members.get("source") or members.get("input")
        kind = members.get("cell_type")
        if source is None or kind is None or text[kind.start : kind.end] != '"code"':
            continue
        value = json.loads(text[source.start : source.end])
        texts.append((index, "".join(map(str, value)) if isinstance(value, list) else str(value)))
        values.append(source)
    return replace(join_cells(texts), raw=text, values=tuple(values))


def join_cells(texts: list[tuple[int, str]]) -> Notebook:
    """Joins the texts of code cells, given with their indexes."""
    out: list[bytes] = []
    cells: list[Cell] = []
    at = 0
    for index, text in texts:
        source = without_magics(text).encode("utf-8", "replace")
        cells.append(Cell(index, Span(at, at + len(source)), text))
        out.append(source + b"\n")
        at += len(source) + 1
    return Notebook(b"".join(out), tuple(cells))


def _language(document: dict[str, Any]) -> str:
    metadata = document.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else "python"


def _cells(text: str) -> Iterator[dict[str, Span]]:
    """Yields the spans of each cell's values in the JSON text, by key; before format 4, cells are in worksheets."""
    members = dict(_members(text, 1 if text.startswith(_BOM) else 0))
    if "cells" not in members and "worksheets" in members:
        sheet = next(_items(text, members["worksheets"].start), None)
        members = dict(_members(text, sheet.start)) if sheet is not None and text[sheet.start] == "{" else {}
    if "cells" not in members or text[members["cells"].start] != "[":
        raise ValueError(_NO_CELLS)
    for item in _items(text, members["cells"].start):
        yield dict(_members(text, item.start)) if text[item.start] == "{" else {}


def _items(text: str, at: int) -> Iterator[Span]:
    """Yields the items of the list that starts at an offset; nothing if the value there is not a list."""
    if text[at] != "[":
        return
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _end_of_value(text, at)
        yield Span(at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _members(text: str, at: int) -> Iterator[tuple[str, Span]]:
    """Yields the members of the object that starts at or after an offset."""
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "}":
        end = _end_of_value(text, at)
        key = json.loads(text[at:end])
        start = _skip(text, _skip(text, end) + 1)
        end = _end_of_value(text, start)
        yield key, Span(start, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


_DECODER = json.JSONDecoder()


def _end_of_value(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _written(old: str, text: str) -> str:
    """Returns the text as JSON in the style of the old value: a list or a string, with the same escapes and layout."""
    ascii_only = old.isascii() and bool(_NON_ASCII_ESCAPE.search(old))
    if not old.startswith("["):
        return json.dumps(text, ensure_ascii=ascii_only)
    items = [old[item.start : item.end] for item in _items(old, 0)]
    as_before = {json.loads(item): item for item in items}
    lines = [
        as_before.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in text.splitlines(keepends=True)
    ]
    if not items:
        return f"[{', '.join(lines)}]"
    spans = list(_items(old, 0))
    head, tail = old[1 : spans[0].start], old[spans[-1].end :]
    between = [old[one.end : next_one.start] for one, next_one in itertools.pairwise(spans)] or [f",{head or ' '}"]
    between += [between[0]] * (len(lines) - len(between) - 1)
    joined = "".join(line + gap for line, gap in zip(lines, [*between[: len(lines) - 1], ""], strict=True))
    return "[" + head + joined + tail
