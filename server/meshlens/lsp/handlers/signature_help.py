"""`textDocument/signatureHelp`: the parameters of a mapped function, which other servers cannot determine."""

from __future__ import annotations

from typing import Any

from meshlens.ide.completing.signature import signature
from meshlens.lsp.session import Session


def signature_help(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the signature of the mapped function that is being called; None for other functions."""
    here = session.at(params)
    found = signature(here[1], here[2], "plaintext") if here is not None else None
    if found is None:
        return None
    parameters: list[dict[str, Any]] = [
        {
            "label": _label(session, found.label, one.start, one.end),
            "documentation": one.text,
        }
        for one in found.parameters
    ]
    made: dict[str, Any] = {"label": found.label, "documentation": found.text, "parameters": parameters}
    # If the cursor is not at a parameter, none is active; the protocol expresses this by an index past the end.
    active = found.active if found.active is not None else len(parameters)
    return {"signatures": [made], "activeSignature": 0, "activeParameter": active}


def _label(session: Session, text: str, start: int, end: int) -> str | list[int]:
    """Returns a parameter as its position in the label, in UTF-16 units, or as its text."""
    if not session.client.labelled_signatures:
        return text[start:end]
    return [len(text[:at].encode("utf-16-le")) // 2 for at in (start, end)]
