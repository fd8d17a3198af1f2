"""`textDocument/didChange`: a text was edited; the path of every keystroke."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from meshlens.lsp.documents import edits_of
from meshlens.lsp.loading import load, source_of
from meshlens.lsp.session import Session

_log = logging.getLogger("meshlens")


def did_change(session: Session, params: dict[str, Any]) -> None:
    """Applies edits in the order in which they came; a text that is not open is left alone."""
    given = params["textDocument"]
    document = session.documents.get(given["uri"])
    if document is None:
        _log.debug("left out an edit of %s, which is not open", given["uri"])
        return
    version = given.get("version")
    if version is not None and document.version is not None and version <= document.version:
        _log.warning("%s: version %s came after version %s", given["uri"], version, document.version)
    changed, edits = edits_of(document, params.get("contentChanges", ()), session.client.encoding)
    changed = replace(changed, version=version)
    session.documents[changed.uri] = changed
    path = changed.path
    folder = session.folder_of(path)
    file = folder.workspace.files.get(str(path))
    if file is None:
        load(session, path)
    elif file.raw == document.text:
        session.put(replace(folder, workspace=folder.workspace.with_edits(path, edits)))
    else:
        session.put(replace(folder, workspace=folder.workspace.with_file(path, source_of(path, changed.text))))
    session.note_whole(path)
    session.touch(path)
