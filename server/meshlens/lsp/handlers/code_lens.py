"""`textDocument/codeLens`: a line of facts above each map, for those who want to see it."""

from __future__ import annotations

from typing import Any

from meshlens.ide.lenses import lenses
from meshlens.lsp.session import Session


def code_lens(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """The lenses of a text; they say something and do nothing."""
    document = session.documents.get(params["textDocument"]["uri"])
    view = session.view(document.path) if document is not None else None
    if document is None or view is None or not session.editor_features(document.path).code_lens:
        return []
    end = document.base + len(document.text)
    return [
        {"range": session.range_in(document, lens.span), "command": {"title": lens.title, "command": ""}}
        for lens in lenses(view)
        if document.base <= lens.span.start <= end
    ]
