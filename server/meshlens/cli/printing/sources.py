"""The source lines for frames: of a file on disk, of a text that replaces it, of a notebook cell."""

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
    split: dict[tuple[str, int | None], list[str]] = {}

    def raw(path: str) -> bytes:
        if path not in known:
            found = texts[Path(path)] if Path(path) in texts else read_source(Path(path))
            known[path] = b"" if isinstance(found, Unread) else found
        return known[path]

    def lines(path: str, cell: int | None) -> list[str]:
        key = (path, cell)
        if key not in split:
            split[key] = _LINE_END.split(_text(raw(path), cell))
        return split[key]

    return lines


def _text(raw: bytes, cell: int | None) -> str:
    if cell is None:
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        cells = read_notebook(raw).cells
    except ValueError:
        return ""
    return next((one.text for one in cells if one.index + 1 == cell), "")
