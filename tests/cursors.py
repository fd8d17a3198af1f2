"""Opens a file with a cursor, the starting point of the tests of editor features."""

from __future__ import annotations

from pathlib import Path

from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.text import Span

ROOT = Path("/project")
CURSOR = "$0"


def opened(files: dict[str, str]) -> tuple[Workspace, FileView, int]:
    """Returns the workspace, the view of the file that holds `$0`, and the offset of the cursor."""
    path, text = next((ROOT / name, text) for name, text in files.items() if CURSOR in text)
    overlay = {ROOT / name: text.replace(CURSOR, "").encode() for name, text in files.items()}
    workspace = open_workspace([ROOT], files=list(overlay), overlay=overlay, devices=8)
    return workspace, workspace.view(path), len(text[: text.index(CURSOR)].encode())


def shown(view: FileView, path: Path, span: Span) -> str:
    """Returns a place as `file:line: text`."""
    source = view.texts[str(path)]
    line = source.count(b"\n", 0, span.start) + 1
    return f"{path.name}:{line}: {source[span.start : span.end].decode()}"
