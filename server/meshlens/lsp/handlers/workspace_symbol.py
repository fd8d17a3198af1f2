"""`workspace/symbol`: the maps and meshes of all open projects."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.beside.whole import ask_whole
from meshlens.lsp.handlers.document_symbol import KINDS
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import location
from meshlens.lsp.wire.client import known_kind


async def workspace_symbol(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the symbols that match the query, best first in each project."""
    one_file = {session.folder_of(document.path).root: document.path for document in session.documents.values()}
    made = []
    for path in one_file.values():
        if not session.editor_features(path).symbols:
            continue
        for symbol in await ask_whole(session, "symbols", path, str(params.get("query", ""))) or ():
            where = location(session, symbol.path, symbol.selection)
            if where is not None:
                kind = known_kind(KINDS[symbol.kind], session.client.workspace_symbol_kinds)
                made.append({"name": symbol.name, "kind": kind, "containerName": symbol.detail, "location": where})
    return made
