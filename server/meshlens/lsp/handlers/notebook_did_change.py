"""`notebookDocument/didChange`: cells were added, removed, moved or edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshlens.lsp.handlers.did_open import PYTHON
from meshlens.lsp.handlers.notebook_did_open import CODE
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import edits_of, opened
from meshlens.lsp.texts.notebook_texts import settle
from meshlens.lsp.texts.notebooks import OpenNotebook


def notebook_did_change(session: Session, params: dict[str, Any]) -> None:
    """Updates a notebook."""
    given = params["notebookDocument"]
    book = session.notebooks.get(given["uri"])
    if book is None:
        session.warn_once(f"ignored an edit to {given['uri']}, which is not open")
        return
    cells = (params.get("change") or {}).get("cells") or {}
    book = _restructured(session, replace(book, version=given.get("version")), cells)
    session.notebooks[book.uri] = book
    for one in cells.get("textContent", ()):
        document = session.documents.get(one["document"]["uri"])
        if document is not None:
            changed, _ = edits_of(document, one.get("changes", ()), session.client.encoding)
            session.documents[changed.uri] = replace(changed, version=one["document"].get("version"))
    settle(session, book.uri)


def _restructured(session: Session, book: OpenNotebook, cells: Mapping[str, Any]) -> OpenNotebook:
    order, code = list(book.cells), set(book.code)
    structure = cells.get("structure") or {}
    array = structure.get("array")
    if array is not None:
        start, gone = array["start"], array["deleteCount"]
        new = array.get("cells") or ()
        order[start : start + gone] = [cell["document"] for cell in new]
        code |= {cell["document"] for cell in new if cell.get("kind") == CODE}
    for item in structure.get("didOpen") or ():
        if item.get("languageId", "python") in PYTHON:
            session.add(opened(item["uri"], item.get("version"), item.get("text", ""), book.uri))
        else:
            code.discard(item["uri"])
    for item in structure.get("didClose") or ():
        session.remove(item["uri"])
        session.clear(item["uri"])
    for one in cells.get("data") or ():
        (code.add if one.get("kind") == CODE and one["document"] in session.documents else code.discard)(
            one["document"]
        )
    return replace(book, cells=tuple(order), code=frozenset(code & set(order)))
