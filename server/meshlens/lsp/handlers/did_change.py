"""`textDocument/didChange`: a document was edited. Every keystroke takes this path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.lsp.loading import is_too_large, load, source_of
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import edits_of


def did_change(session: Session, params: dict[str, Any]) -> None:
    """Applies edits in order; ignores a document that is not open."""
    given = params["textDocument"]
    document = session.documents.get(given["uri"])
    if document is None:
        if given["uri"] not in session.foreign:
            session.warn_once(f"ignored an edit to {given['uri']}, which is not open")
        return
    version = given.get("version")
    if version is not None and document.version is not None and version <= document.version:
        session.warn_once(f"{given['uri']}: versions arrived out of order")
    changed, edits = edits_of(document, params.get("contentChanges", ()), session.client.encoding)
    changed = replace(changed, version=version)
    session.documents[changed.uri] = changed
    path = changed.path
    folder = session.folder_of(path)
    file = folder.workspace.files.get(str(path))
    if is_too_large(session, path):
        session.put(replace(folder, workspace=folder.workspace.without_file(path)))
    elif file is None:
        load(session, path)
    elif file.raw == document.text:
        session.put(replace(folder, workspace=folder.workspace.with_edits(path, edits)))
    else:
        session.put(replace(folder, workspace=folder.workspace.with_file(path, source_of(path, changed.text))))
    session.unsaved.add(path)
    session.note_whole(path, folder.workspace)
    session.touch(path)
