"""`textDocument/definition`: from an axis name to what binds it."""

from __future__ import annotations

from typing import Any

from meshlens.ide.definition import definition as places_of
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import location


def definition(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Where the name is bound; nothing for what is no axis name."""
    here = session.at(params)
    if here is None:
        return None
    found = [location(session, place.path, place.span) for place in places_of(here[1], here[2])]
    return [one for one in found if one is not None] or None
