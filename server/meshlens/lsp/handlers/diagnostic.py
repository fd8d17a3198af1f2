"""`textDocument/diagnostic`: the findings of one text, on request."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import diagnostics


def diagnostic(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the findings, or a report that they are unchanged."""
    document = session.documents.get(params["textDocument"]["uri"])
    if document is None:
        return {"kind": "full", "items": []}
    session.dirty.pop(document.path, None)
    return report(diagnostics(session, document), params.get("previousResultId"))


def report(items: list[dict[str, Any]], known: object) -> dict[str, Any]:
    """Returns a report; its result id is derived from the findings, so the id survives a restart.

    Args:
        items: the findings.
        known: the result id that the client has.
    """
    number = hashlib.blake2b(json.dumps(items).encode(), digest_size=8).hexdigest() if items else "none"
    if number == known:
        return {"kind": "unchanged", "resultId": number}
    return {"kind": "full", "resultId": number, "items": items}
