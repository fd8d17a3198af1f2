"""`workspace/diagnostic`: the findings of every file of a project, on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meshlens.checking.check import Diagnosed
from meshlens.foreign_files import Unread
from meshlens.lsp.beside.whole import findings_of_project
from meshlens.lsp.handlers.diagnostic import report
from meshlens.lsp.progress import reporting
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document, path_of, uri_of
from meshlens.lsp.to_lsp import diagnostic
from meshlens.project.disk.python_text import read_source
from meshlens.text import LineIndex


async def workspace_diagnostic(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns a report for each closed file that has findings, or had some at the last request."""
    known = {one["uri"]: one.get("value") for one in params.get("previousResultIds", ())}
    items: list[dict[str, Any]] = []
    with reporting(session, params.get("workDoneToken"), "Checking the project") as progress:
        for root, folder in list(session.folders.items()):
            wanted = folder.features.workspace_diagnostics
            if wanted == "off" or (wanted == "small" and folder.small is False):
                continue
            progress(root.name)
            for path, found in (await findings_of_project(session, root)).items():
                uri = uri_of(path)
                if session.is_open(path) or (not found and uri not in known):
                    continue
                made = report(file_diagnostics(session, path, found), known.get(uri))
                items.append({**made, "uri": uri, "version": None})
    reported = {one["uri"] for one in items}
    for uri, value in known.items():
        # The file is gone, or its project is no longer open, for example because the tour was closed.
        if uri not in reported and uri.startswith("file:") and not session.is_open(path_of(uri)):
            items.append({**report([], value), "uri": uri, "version": None})
    return {"items": items}


def file_diagnostics(session: Session, path: Path, found: tuple[Diagnosed, ...]) -> list[dict[str, Any]]:
    """Returns the findings of a closed file; none for a notebook, whose cells have no URIs until it is opened."""
    if not found or path.suffix == ".ipynb":
        return []
    text = read_source(path)
    if isinstance(text, Unread):
        return []
    document = Document(uri_of(path), None, path, text, LineIndex(text))
    return [diagnostic(session, document, one) for one in found]
