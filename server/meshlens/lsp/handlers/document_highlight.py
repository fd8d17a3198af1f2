"""`textDocument/documentHighlight`: the same axis name elsewhere in this text."""

from __future__ import annotations

from typing import Any

from meshlens.ide.naming.highlight import highlights
from meshlens.lsp.session import Session

_KINDS = {"text": 1, "read": 2, "write": 3}


def document_highlight(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the places in this text; in a notebook, those in this cell."""
    here = session.at(params)
    if here is None:
        return None
    document, view, offset = here
    end = document.base + len(document.text)
    return [
        {"range": session.range_in(document, one.span), "kind": _KINDS[one.access]}
        for one in highlights(view, offset)
        if document.base <= one.span.start <= end
    ] or None
