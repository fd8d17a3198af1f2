"""`textDocument/documentSymbol`: the maps and meshes of a document, in addition to other servers' symbols."""

from __future__ import annotations

from typing import Any

from meshlens.ide.shown.symbols import Symbol, document_symbols
from meshlens.lsp.session import Session
from meshlens.lsp.wire.client import known_kind

KINDS = {"map": (24, 12), "mesh": (23, 18)}
"""Symbol kinds for maps and meshes: event and struct, because the protocol has no kinds for them.

Clients that do not know these kinds get function and array instead.
"""


def document_symbol(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the symbols of a document; in a notebook, those of the cell."""
    document = session.documents.get(params["textDocument"]["uri"])
    view = session.view(document.path) if document is not None else None
    if document is None or view is None or not session.editor_features(document.path).symbols:
        return []
    end = document.base + len(document.text)

    def made(symbol: Symbol) -> dict[str, Any]:
        common = {"name": symbol.name, "kind": known_kind(KINDS[symbol.kind], session.client.symbol_kinds)}
        where = session.range_in(document, symbol.span)
        if not session.client.hierarchical_symbols:
            return {**common, "containerName": symbol.detail, "location": {"uri": document.uri, "range": where}}
        selection = session.range_in(document, symbol.selection)
        return {**common, "detail": symbol.detail, "range": where, "selectionRange": selection}

    return [made(symbol) for symbol in document_symbols(view) if document.base <= symbol.span.start <= end]
