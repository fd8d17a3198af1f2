"""`meshlens/trace`: traces an entry in the project's Python; `meshlens/traces`: the stored traces of a file."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from meshlens.devices.topology import BadTopology, Topology
from meshlens.ide.shown.entries import function_around
from meshlens.lsp.handlers.convert import asked_for
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.traces import target_of, traces_of
from meshlens.lsp.traces_shown import listed, told
from meshlens.lsp.wire.from_lsp import offset_of
from meshlens.lsp.wire.refusal import INVALID_PARAMS, Refusal


def trace(session: Session, params: dict[str, Any]) -> Awaitable[dict[str, Any]]:
    """Traces an entry on devices, and returns the trace in the form of `meshlens/traces`.

    Args:
        session: the session.
        params: `textDocument`; `name`, or a `position` in the entry; `devices` such as "v5e-16", or null for the file's
            target.

    Raises:
        Refusal: the text is not open, there is no function at the position, or running programs is not allowed.
    """
    document, view = asked_for(session, params)
    if document.notebook is not None:
        raise Refusal("a notebook cannot be traced; move the function to a .py file")
    name = params.get("name")
    if name is None:
        at = offset_of(document, params["position"], session.client.encoding)
        around = function_around(view, at)
        if around is None:
            raise Refusal("there is no function at the cursor")
        name = around.name
    try:
        target = target_of(view, params.get("devices"))
    except BadTopology as error:
        raise Refusal(str(error), INVALID_PARAMS) from None
    return _traced(session, document, str(name), target)


async def _traced(session: Session, document: Document, name: str, target: Topology) -> dict[str, Any]:
    kept = await traces_of(session).trace(document.path, name, target)
    if not session.client.shows_traces:
        session.say(f"{kept.trace.entry} on {target.text}: {kept.summary}", level=2 if kept.trace.errors else 3)
    return told(session, kept, stale=False)


def traces(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the traces that read a document, each with links to its collectives, slowest first."""
    document = session.documents.get(params.get("uri", ""))
    if document is None or session.traces is None:
        return []
    return listed(session, document.path)
