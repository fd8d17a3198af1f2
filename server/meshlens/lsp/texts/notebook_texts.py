"""Combines the cells of an open notebook into one module in the workspace."""

from __future__ import annotations

from dataclasses import replace

from meshlens.lsp.loading import load
from meshlens.lsp.session import Session
from meshlens.lsp.texts.notebooks import bases


def settle(session: Session, uri: str) -> None:
    """Computes the start of each cell of a notebook, and loads the notebook."""
    book = session.notebooks[uri]
    documents = [session.documents[cell] for cell in book.code_cells if cell in session.documents]
    starts = bases([document.text.decode("utf-8", "replace") for document in documents])
    for document, start in zip(documents, starts, strict=True):
        session.documents[document.uri] = document if document.base == start else replace(document, base=start)
    load(session, book.path)
    session.touch(book.path)
