"""Annotations for GitHub Actions: one workflow command for each finding."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from meshlens.cli.printing.report import Place, Report, Reported
from meshlens.cli.printing.visible import visible
from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import read_source
from meshlens.project.notebooks.notebook import Notebook, read_notebook

_COMMANDS = {"error": "error", "warning": "warning", "hint": "notice"}


def render(report: Report) -> str:
    """Returns the findings as workflow commands."""
    return "".join(f"{_command(finding)}\n" for finding in report.findings)


def _command(finding: Reported) -> str:
    place = finding.place
    properties = {"title": f"MeshLens ({finding.code} {finding.name})", "file": _file(place.path)}
    message = finding.message
    if place.cell is not None:
        message = f"cell {place.cell}, row {place.start[0]}, column {place.start[1]}: {message}"
        rows = [str(_row_in_file(place.path, place.cell, row)) for row in (place.start[0], place.end[0])]
        properties |= {"line": rows[0], "endLine": rows[1]}
    elif place.start[0] == place.end[0]:
        properties |= {
            "line": str(place.start[0]),
            "col": str(place.start[1]),
            "endLine": str(place.end[0]),
            "endColumn": str(place.end[1]),
        }
    else:
        # GitHub accepts columns only if both ends are on one line.
        properties |= {"line": str(place.start[0]), "endLine": str(place.end[0])}
    order = ("file", "line", "col", "endLine", "endColumn", "title")
    written = ",".join(f"{key}={_property(properties[key])}" for key in order if key in properties)
    return f"::{_COMMANDS[finding.severity]} {written}::{_data(message)}"


def _row_in_file(path: str, cell: int, row: int) -> int:
    """Returns the row in a notebook's JSON text that contains a row of a cell; 1 if the notebook cannot be read."""
    notebook = _notebook(path)
    return notebook.row_in_file(cell - 1, row) if notebook is not None else 1


@lru_cache(maxsize=1)
def _notebook(path: str) -> Notebook | None:
    raw = read_source(Path(path))
    try:
        return None if isinstance(raw, Unread) else read_notebook(raw)
    except ValueError:
        return None


def _file(path: str) -> str:
    top = os.environ.get("GITHUB_WORKSPACE")
    base = top if top and path.startswith(top.rstrip(os.sep) + os.sep) else None
    shown = os.path.relpath(path, base) if base else Place(path, None, (1, 1), (1, 1)).shown
    return shown.replace(os.sep, "/")


def _data(text: str) -> str:
    lines = (visible(line) for line in text.replace("%", "%25").replace("\r", "%0D").split("\n"))
    return "%0A".join(lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
