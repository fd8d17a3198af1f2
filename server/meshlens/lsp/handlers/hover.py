"""`textDocument/hover`."""

from __future__ import annotations

from typing import Any

from meshlens.ide.hover import hover as hover_at
from meshlens.ide.prose import HoverStyle
from meshlens.lsp.session import Session

_SHOW_PICTURES = ("Visual Studio Code", "code-server", "VSCodium", "Cursor")


def hover(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """What there is to say about the place; nothing for plain Python."""
    here = session.at(params)
    if here is None or not session.editor_features(here[0].path).hover:
        return None
    document, view, offset = here
    style = style_of(session)
    found = hover_at(view, offset, style)
    if found is None:
        return None
    kind = "plaintext" if style == "plaintext" else "markdown"
    return {"contents": {"kind": kind, "value": found.text}, "range": session.range_in(document, found.span)}


def style_of(session: Session) -> HoverStyle:
    """How to write for this client."""
    if not session.client.markdown:
        return "plaintext"
    return "svg" if session.client.name.startswith(_SHOW_PICTURES) else "markdown"
