"""Notebooks: the code cells as one module in order, with magics made harmless."""

from __future__ import annotations

import json
from dataclasses import dataclass

from meshlens.text import Span

_PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun", "%%memit")


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its index among all cells, from 0, and where its text lies in the module."""

    index: int
    span: Span


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as one module.

    Attributes:
        source: the text of the code cells, each followed by a line end.
        cells: the code cells in order.
    """

    source: bytes
    cells: tuple[Cell, ...]


def read_notebook(raw: bytes) -> Notebook:
    """Reads an `.ipynb` file.

    Raises:
        ValueError: the bytes are no notebook.
    """
    try:
        document = json.loads(raw.decode("utf-8-sig"))
        cells = document["cells"] if "cells" in document else document["worksheets"][0]["cells"]
        texts = [(index, _text(cell)) for index, cell in enumerate(cells) if cell.get("cell_type") == "code"]
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a notebook: {error}") from error
    return join_cells(texts)


def join_cells(texts: list[tuple[int, str]]) -> Notebook:
    """Joins the texts of code cells, given with their indexes."""
    out: list[bytes] = []
    cells: list[Cell] = []
    at = 0
    for index, text in texts:
        source = without_magics(text).encode("utf-8", "replace")
        cells.append(Cell(index, Span(at, at + len(source))))
        out.append(source + b"\n")
        at += len(source) + 1
    return Notebook(b"".join(out), tuple(cells))


def without_magics(text: str) -> str:
    """A cell's text with magics and shell lines made comments of the same length."""
    stripped = text.lstrip()
    if stripped.startswith("%%") and not stripped.startswith(_PYTHON_CELL_MAGICS):
        return "".join("#" + line[1:] if line.strip() else line for line in text.splitlines(keepends=True))
    if "%" not in text and "!" not in text and "?" not in text:
        return text
    return "".join(_line(line) for line in text.splitlines(keepends=True))


def _line(line: str) -> str:
    body = line.lstrip()
    indent = len(line) - len(body)
    if body.startswith(("%", "!")) or body.rstrip().endswith("?") and "#" not in body and body.startswith(("?", "jax", "np", "help")):
        if indent and len(body.rstrip("\r\n")) >= 4:
            return line[:indent] + "pass" + "#" + body[5:] if len(body) > 5 else line[:indent] + "pass" + body[4:]
        return line[:indent] + "#" + body[1:]
    return line


def _text(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        return "".join(str(line) for line in source)
    return str(source)
