"""`meshlens/meshes`: the meshes and mapped functions of a file, for a separate view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlens.ide.shown.axis_colors import axis_colors
from meshlens.ide.shown.mesh_focus import Focus, focus_at
from meshlens.ide.shown.mesh_list import Axis, mapped_functions, meshes_in
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of
from meshlens.lsp.wire.from_lsp import offset_of
from meshlens.text import Span


def meshes(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the meshes and mapped functions of a document, in order, and the drawing for a `position` in it."""
    uri = str(params.get("uri") or params["textDocument"]["uri"])
    document = session.documents.get(uri)
    path = document.path if document is not None else path_of(uri)
    view = session.view(path)
    if view is None:
        return {"meshes": [], "functions": [], "focus": None}
    colors = axis_colors(view.solution)
    position = params.get("position")
    at = offset_of(document, position, session.client.encoding) if document is not None and position else None

    def placed(span: Span) -> dict[str, Any] | None:
        found = session.placed(path, span)
        return found[1] if found is not None and (found[0] == uri or document is None) else None

    return {
        "meshes": [
            {
                "label": one.label,
                "axes": _axes(one.axes, colors),
                "range": place,
                "devices": list(one.devices) if one.devices is not None else None,
            }
            for one in meshes_in(view)
            if (place := placed(one.span)) is not None
        ],
        "functions": [
            {"name": one.name, "range": place, "axes": _axes(one.axes, colors), "binder": one.binder}
            for one in mapped_functions(view)
            if (place := placed(one.span)) is not None
        ],
        "focus": _focus(focus_at(view, at), colors) if at is not None else None,
    }


def _focus(focus: Focus | None, colors: Mapping[str, int]) -> dict[str, Any] | None:
    if focus is None:
        return None
    return {
        "kind": focus.kind,
        "label": focus.label,
        "detail": focus.detail,
        "axes": _axes(focus.axes, colors),
        "devices": list(focus.devices) if focus.devices is not None else None,
        "cells": [{"text": text, "group": group} for text, group in focus.cells],
    }


def _axes(axes: tuple[Axis, ...], colors: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"name": axis.name, "size": axis.size, "color": colors.get(axis.name)} for axis in axes]
