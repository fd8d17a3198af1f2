"""`textDocument/didSave`: a document was saved; its imports may have changed."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.loading import load
from meshlens.lsp.session import Session


def did_save(session: Session, params: dict[str, Any]) -> None:
    """Loads imports of the saved text that are not loaded yet."""
    document = session.documents.get(params["textDocument"]["uri"])
    if document is not None:
        session.note_saved(document.path)
        load(session, document.path)
        session.touch(document.path)
        session.indexing.changed(session.folder_of(document.path).root, document.path)
