"""`textDocument/inlayHint`: the axes of helpers and the sizes of axes, if enabled, and results of traces."""

from __future__ import annotations

from typing import Any

from meshlens.ide.shown.inlay_hints import InlayHintsWanted, inlay_hints
from meshlens.lsp.session import Session
from meshlens.lsp.wire.from_lsp import span_of
from meshlens.text import Span

_AFTER_A_NAME = 1


def inlay_hint(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the hints in the visible part of a document."""
    document = session.documents.get(params["textDocument"]["uri"])
    view = session.view(document.path) if document is not None else None
    if document is None or view is None:
        return []
    features = session.editor_features(document.path)
    wanted = InlayHintsWanted(features.inlay_hints_axes, features.inlay_hints_sizes)
    is_traced = session.traces is not None and document.notebook is None
    if not wanted.axes and not wanted.sizes and not is_traced:
        return []
    within = span_of(document, params["range"], session.client.encoding)
    made: list[dict[str, Any]] = [
        {
            "position": session.range_in(document, Span(hint.offset, hint.offset))["start"],
            "label": hint.text,
            "kind": _AFTER_A_NAME,
            "tooltip": hint.tooltip,
            "paddingLeft": True,
        }
        for hint in inlay_hints(view, wanted, within)
    ]
    if is_traced:
        # Imported here, so that users who never trace do not wait for the import.
        from meshlens.lsp.traces_shown import trace_hints

        made += trace_hints(session, document, view, within)
    return made
