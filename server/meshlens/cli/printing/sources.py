"""The source lines for frames, from a file on disk, the text that replaces it, or a notebook cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import read_source
from meshlens.project.notebooks.notebook import read_notebook

_LINE_END = re.compile("\r\n|\r|\n")


def line_reader(texts: Mapping[Path, bytes]) -> Callable[[str, int | None], list[str]]:
    """Returns a function that returns the lines of a file, or of a notebook cell, without line endings.

    Args:
        texts: replacements for files on disk.
    """
    known: dict[str, bytes] = {}
    texts_of_cells: dict[str, dict[int, str]] = {}
    split: dict[tuple[str, int | None], list[str]] = {}

    def raw(path: str) -> bytes:
        if path not in known:
            found = texts[Path(path)] if Path(path) in texts else read_source(Path(path))
            known[path] = b"" if isinstance(found, Unread) else found
        return known[path]

    def text(path: str, cell: int | None) -> str:
        if cell is None:
            return raw(path).decode("utf-8", "replace").removeprefix("\ufeff")
        if path not in texts_of_cells:
            texts_of_cells[path] = _cells(raw(path))
        return texts_of_cells[path].get(cell, "")

    def lines(path: str, cell: int | None) -> list[str]:
        key = (path, cell)
        if key not in split:
            split[key] = _LINE_END.split(text(path, cell))
        return split[key]

    return lines


def _cells(raw: bytes) -> dict[int, str]:
    """Returns the text of each cell of a notebook by its number, from 1; nothing if the notebook cannot be read."""
    try:
        return {cell.index + 1: cell.text for cell in read_notebook(raw).cells}
    except ValueError:
        return {}
