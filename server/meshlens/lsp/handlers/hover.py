"""`textDocument/hover`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from meshlens.ide.hovering.hover import Hover
from meshlens.ide.hovering.hover import hover as hover_at
from meshlens.ide.hovering.prose import HoverStyle
from meshlens.ide.naming.outside import OutsideAxis, outside_axis, outside_text
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.project.view import FileView

Shown = dict[str, Any] | None
_SHOW_PICTURES = ("Visual Studio Code", "code-server", "VSCodium", "Cursor")


def hover(session: Session, params: dict[str, Any]) -> Shown | Awaitable[Shown]:
    """Returns the hover at a position; None for plain Python."""
    here = session.at(params)
    if here is None or not session.editor_features(here[0].path).hover:
        return None
    document, view, offset = here
    style = style_of(session)
    found = hover_at(view, offset, style)
    if session.traces is not None and document.notebook is None:
        found = _with_trace(session, view, offset, found)
    if found is None:
        axis = outside_axis(view, offset)
        return _outside(session, document, axis) if axis is not None and session.indexing is not None else None
    kind = "plaintext" if style == "plaintext" else "markdown"
    return {"contents": {"kind": kind, "value": found.text}, "range": session.range_in(document, found.span)}


def _with_trace(session: Session, view: FileView, offset: int, found: Hover | None) -> Hover | None:
    """Returns a hover followed by the traces' information about the line."""
    # Imported here, so that users who never trace do not wait for the import.
    from meshlens.lsp.traces_shown import trace_hover

    traced = trace_hover(session, view, offset, markdown=session.client.markdown)
    if traced is None:
        return found
    return Hover(*traced) if found is None else Hover(found.span, f"{found.text}\n\n{traced[1]}")


async def _outside(session: Session, document: Document, axis: OutsideAxis) -> Shown:
    """Returns the hover of an axis name from an installed package."""
    found = await session.indexing.look_up(session.folder_of(document.path).root, axis.dotted)
    if found is None:
        return None
    kind = "markdown" if session.client.markdown else "plaintext"
    return {
        "contents": {"kind": kind, "value": outside_text(axis, found)},
        "range": session.range_in(document, axis.span),
    }


def style_of(session: Session) -> HoverStyle:
    """Returns the text style for this client."""
    if not session.client.markdown:
        return "plaintext"
    if not session.client.name.startswith(_SHOW_PICTURES):
        return "markdown"
    return "html" if session.client.axis_colors else "svg"
