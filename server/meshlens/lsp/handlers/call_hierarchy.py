"""The call hierarchy by axis environment: three requests that belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meshlens.axes.domain.values import Site
from meshlens.ide.shown.call_hierarchy import CallItem
from meshlens.lsp.beside.whole import ask_whole
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of
from meshlens.text import Span

_KINDS = {"function": 12, "module": 2, "collective": 24}


async def prepare_call_hierarchy(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the functions defined or called at the cursor, if a route leads through them."""
    here = session.at(params)
    if here is None:
        return None
    found = await ask_whole(session, "prepare calls", here[0].path, here[2])
    return [item for one in found or () if (item := _item(session, one)) is not None] or None


async def incoming_calls(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the callers of a function, with the maps around each call."""
    path, site = _asked(params)
    made = []
    for link in await ask_whole(session, "incoming calls", path, site) or ():
        item = _item(session, link.item)
        if item is not None:
            made.append({"from": item, "fromRanges": _ranges(session, link.item.path, link.spans)})
    return made


async def outgoing_calls(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the calls that a function makes, and its collectives."""
    path, site = _asked(params)
    made = []
    for link in await ask_whole(session, "outgoing calls", path, site) or ():
        item = _item(session, link.item)
        if item is not None:
            made.append({"to": item, "fromRanges": _ranges(session, path, link.spans)})
    return made


def _asked(params: dict[str, Any]) -> tuple[Path, Site]:
    item = params["item"]
    path, block, index = item["data"]
    return path_of(item["uri"]) if item["uri"].startswith("file:") else Path(path), Site(path, block, int(index))


def _item(session: Session, item: CallItem) -> dict[str, Any] | None:
    whole, selection = session.placed(item.path, item.span), session.placed(item.path, item.selection)
    if whole is None or selection is None:
        return None
    return {
        "name": item.name,
        "kind": _KINDS[item.kind],
        "detail": item.detail,
        "uri": whole[0],
        "range": whole[1],
        "selectionRange": selection[1],
        "data": list(item.site),
    }


def _ranges(session: Session, path: Path, spans: tuple[Span, ...]) -> list[dict[str, Any]]:
    return [placed[1] for span in spans if (placed := session.placed(path, span)) is not None]
