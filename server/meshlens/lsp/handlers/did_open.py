"""`textDocument/didOpen`: from now on, the client's text is used."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.loading import load
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import opened

PYTHON = frozenset({"python"})


def did_open(session: Session, params: dict[str, Any]) -> None:
    """Loads a Python text; ignores other languages."""
    item = params["textDocument"]
    if item.get("languageId", "python") not in PYTHON:
        session.foreign.add(item["uri"])
        return
    document = opened(item["uri"], item.get("version"), item.get("text", ""))
    session.add(document)
    load(session, document.path)
    session.touch(document.path)
