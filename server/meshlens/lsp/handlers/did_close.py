"""`textDocument/didClose`: from now on, the file on disk is used."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.loading import unload
from meshlens.lsp.session import Session


def did_close(session: Session, params: dict[str, Any]) -> None:
    """Forgets a document and clears its diagnostics."""
    session.foreign.discard(params["textDocument"]["uri"])
    document = session.remove(params["textDocument"]["uri"])
    if document is None:
        return
    session.clear(document.uri)
    unload(session, document.path)
    session.touch_others(document.path)
    session.leave(session.folder_of(document.path).root)
