"""`notebookDocument/didOpen`: the cells of a notebook are one module, in order."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.handlers.did_open import PYTHON
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import opened, path_of
from meshlens.lsp.texts.notebook_texts import settle
from meshlens.lsp.texts.notebooks import OpenNotebook

CODE = 2


def notebook_did_open(session: Session, params: dict[str, Any]) -> None:
    """Loads a notebook."""
    book = params["notebookDocument"]
    cells = book.get("cells", ())
    languages = {item["uri"]: item.get("languageId", "python") for item in params.get("cellTextDocuments", ())}
    code = frozenset(
        cell["document"] for cell in cells if cell.get("kind") == CODE and languages.get(cell["document"]) in PYTHON
    )
    for item in params.get("cellTextDocuments", ()):
        if item["uri"] in code:
            session.add(opened(item["uri"], item.get("version"), item.get("text", ""), book["uri"]))
    session.notebooks[book["uri"]] = OpenNotebook(
        book["uri"], book.get("version"), path_of(book["uri"]), tuple(cell["document"] for cell in cells), code
    )
    settle(session, book["uri"])
