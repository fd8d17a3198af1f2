"""`meshlens/meshes`: the meshes of a file and the functions that run under axes, for a view of its own."""

from __future__ import annotations

from typing import Any

from meshlens.ide.mesh_list import Axis, mapped_functions, meshes_in
from meshlens.lsp.documents import path_of
from meshlens.lsp.session import Session
from meshlens.text import Span


def meshes(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """The meshes and mapped functions of a text, in order; none of one that is not ours."""
    uri = str(params.get("uri") or params["textDocument"]["uri"])
    document = session.documents.get(uri)
    path = document.path if document is not None else path_of(uri)
    view = session.view(path)
    if view is None:
        return {"meshes": [], "functions": []}

    def placed(span: Span) -> dict[str, Any] | None:
        found = session.placed(path, span)
        return found[1] if found is not None and (found[0] == uri or document is None) else None

    return {
        "meshes": [
            {
                "label": one.label,
                "axes": _axes(one.axes),
                "range": place,
                "devices": list(one.devices) if one.devices is not None else None,
            }
            for one in meshes_in(view)
            if (place := placed(one.span)) is not None
        ],
        "functions": [
            {"name": one.name, "range": place, "axes": _axes(one.axes), "binder": one.binder}
            for one in mapped_functions(view)
            if (place := placed(one.span)) is not None
        ],
    }


def _axes(axes: tuple[Axis, ...]) -> list[dict[str, Any]]:
    return [{"name": axis.name, "size": axis.size} for axis in axes]
