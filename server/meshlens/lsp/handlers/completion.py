"""`textDocument/completion`: axis names, skeletons and snippets."""

from __future__ import annotations

from typing import Any

from meshlens.ide.completing.completion import Completion, CompletionWants, complete
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.wire.client import known_kind
from meshlens.project.snippets import read_snippets

_TEXT, _VALUE, _SNIPPET, _ENUM_MEMBER = (1,), (12,), (15,), (20, 12)
_KINDS = {"axis": _ENUM_MEMBER, "skeleton": _VALUE, "snippet": _SNIPPET}
_WITH_PLACEHOLDERS = 2


def completion(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the completions at a position; None if completing there is another server's job."""
    here = session.at(params)
    if here is None:
        return None
    document, view, offset = here
    features = session.editor_features(document.path)
    if not features.completion:
        return None
    whole = session.last_whole.get(document.path)
    before = whole.view(document.path) if whole is not None and view.facts.broken else None
    snippets = read_snippets() if features.snippets else ()
    # A notebook cell is a separate text, so a completion cannot include edits to other cells.
    wants = CompletionWants(session.client.snippets, snippets, edits_elsewhere=document.notebook is None)
    found = complete(view, offset, wants, before)
    if not found:
        return None
    return {"isIncomplete": False, "items": [_item(session, document, one) for one in found]}


def _item(session: Session, document: Document, one: Completion) -> dict[str, Any]:
    made: dict[str, Any] = {
        "label": one.label,
        "kind": known_kind(_KINDS.get(one.kind, _TEXT), session.client.item_kinds),
        "detail": one.detail,
        "textEdit": {"range": session.range_in(document, one.span), "newText": one.insert},
    }
    if one.documentation:
        # A client that lists no formats accepts only a string.
        text = one.documentation
        made["documentation"] = {"kind": "markdown", "value": text} if session.client.markdown_items else text
    if one.sort:
        made["sortText"] = one.sort
    if one.filter:
        made["filterText"] = one.filter
    if one.is_snippet:
        made["insertTextFormat"] = _WITH_PLACEHOLDERS
    if one.others:
        made["additionalTextEdits"] = [
            {"range": session.range_in(document, edit.span), "newText": edit.text} for edit in one.others
        ]
    return made
