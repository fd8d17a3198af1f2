"""`textDocument/references`: every place with an axis name."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.beside.whole import ask_whole
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import location


async def references(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the places in every file, without the binders if the client does not want them."""
    here = session.at(params)
    if here is None:
        return None
    found = await ask_whole(session, "references", here[0].path, here[2])
    declared = (params.get("context") or {}).get("includeDeclaration", True)
    places = [location(session, one.path, one.span) for one in found or () if declared or one.role != "binds"]
    return [place for place in places if place is not None] or None
