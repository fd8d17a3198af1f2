"""`notebookDocument/didClose`: from now on, the file on disk is used."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.loading import unload
from meshlens.lsp.session import Session


def notebook_did_close(session: Session, params: dict[str, Any]) -> None:
    """Forgets a notebook and its cells."""
    book = session.notebooks.pop(params["notebookDocument"]["uri"], None)
    if book is None:
        return
    for cell in book.cells:
        session.clear(cell)
        session.remove(cell)
    unload(session, book.path)
    session.touch_others(book.path)
    session.leave(session.folder_of(book.path).root)


def notebook_did_save(session: Session, params: dict[str, Any]) -> None:
    """Does nothing, because the server already uses the client's text."""
