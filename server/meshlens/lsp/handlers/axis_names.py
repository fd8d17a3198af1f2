"""`meshlens/axisNames` and `textDocument/semanticTokens/full`: axis names, each with the color of its axis.

Our own client colors them itself, because VS Code uses only one server's semantic tokens, usually those of the Python
server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshlens.ide.shown.axis_colors import ColoredName, colored_names
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document


def axis_names(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the axis names of a document and their color numbers."""
    document = session.documents.get(str(params.get("uri")))
    if document is None:
        return []
    return [
        {"name": one.name, "color": one.color, "range": session.range_in(document, one.span)}
        for one in _names(session, document)
    ]


def semantic_tokens(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the axis names of a document as tokens, each relative to the one before."""
    document = session.documents.get(params["textDocument"]["uri"])
    data: list[int] = []
    line, character = 0, 0
    for one in _names(session, document) if document is not None else ():
        place = session.range_in(document, one.span) if document is not None else {}
        start, end = place["start"], place["end"]
        distance = start["character"] - (character if start["line"] == line else 0)
        data += [start["line"] - line, distance, end["character"] - start["character"], one.color, 1]
        line, character = start["line"], start["character"]
    return {"data": data}


def _names(session: Session, document: Document) -> Iterator[ColoredName]:
    view = session.view(document.path)
    if view is None or not session.editor_features(document.path).axis_colors:
        return
    end = document.base + len(document.text)
    yield from (one for one in colored_names(view) if document.base <= one.span.start and one.span.end <= end)
