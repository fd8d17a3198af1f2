"""Views of the other files of a view's workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from meshlens.project.view import FileView
from meshlens.text import LineIndex


def view_of(view: FileView, path: str) -> FileView:
    """Returns the view of another file of the same workspace."""
    source = view.texts[path]
    return replace(view, path=Path(path), source=source, lines=LineIndex(source), facts=view.solution.facts[path])
