"""`textDocument/codeLens`: "Trace" above each entry, and a line about each map, if enabled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meshlens.axes.domain.values import Site
from meshlens.ide.shown.entries import entries
from meshlens.ide.shown.lenses import Lens, lenses
from meshlens.lsp.commands import SHOW_COSTS, SHOW_MAP, SHOW_PLACE, SHOW_PLACES, TRACE
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.to_lsp import location
from meshlens.project.view import FileView


def code_lens(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the lenses of a document.

    On a click, a client with our commands shows the meshes, or the places of the collectives; any other client that can
    open documents opens the first of these places.
    """
    document = session.documents.get(params["textDocument"]["uri"])
    view = session.view(document.path) if document is not None else None
    if document is None or view is None:
        return []
    end = document.base + len(document.text)
    found = lenses(view) if session.editor_features(document.path).code_lens else ()
    return [
        *_of_entries(session, document, view),
        *(
            {"range": session.range_in(document, lens.span), "command": command}
            for lens in found
            if document.base <= lens.span.start <= end
            for command in _commands(session, document, view, lens)
        ),
    ]


def _of_entries(session: Session, document: Document, view: FileView) -> Iterator[dict[str, Any]]:
    """Yields the lenses of functions that can be traced: one to trace, and one with the last result."""
    if document.notebook is not None or not session.trusted:
        return
    named = _named_in_configuration(session, document.path)
    traces = session.traces.of(document.path) if session.traces is not None else ()
    for entry in entries(view, named):
        where = session.range_in(document, entry.span)
        last = next(((kept, stale) for kept, stale in traces if kept.name == entry.name), None)
        target = last[0].trace.target if last else view.devices.target.text if view.devices.target else "8"
        words = target if not target.isdecimal() else f"{target} devices"
        again = "Trace again on" if last else "Trace on"
        arguments = [document.uri, entry.name, target]
        yield {"range": where, "command": {"title": f"{again} {words}", "command": TRACE, "arguments": arguments}}
        if last is not None:
            title = f"{'stale · ' if last[1] else ''}{last[0].summary}"
            shown = {"command": SHOW_COSTS, "arguments": [document.uri]}
            yield {
                "range": where,
                "command": {"title": title, **shown} if session.client.shows_traces else _plain(title),
            }


def _named_in_configuration(session: Session, path: Path) -> frozenset[str]:
    settings = session.folder_of(path).settings
    written = (entry.rpartition("::") for _, entry in settings.entries)
    return frozenset(name for file, _, name in written if Path(settings.folder, file) == path)


def _commands(session: Session, document: Document, view: FileView, lens: Lens) -> Iterator[dict[str, Any]]:
    places = [one for site in _ordered(view, lens.places) if (one := _location(session, view, site)) is not None]
    if not session.client.lens_commands:
        is_opened = session.client.shows_documents and places
        yield {"title": lens.title, "command": SHOW_PLACE, "arguments": places[:1]} if is_opened else _plain(lens.title)
        return
    if lens.map:
        yield {"title": lens.map, "command": SHOW_MAP, "arguments": [document.uri]}
    if lens.collectives:
        start = session.range_in(document, lens.span)["start"]
        shown = {"command": SHOW_PLACES, "arguments": [document.uri, start, places]}
        yield {"title": lens.collectives, **shown} if places else _plain(lens.collectives)


def _plain(title: str) -> dict[str, Any]:
    return {"title": title, "command": ""}


def _ordered(view: FileView, sites: tuple[Site, ...]) -> list[Site]:
    return sorted(sites, key=lambda site: (not view.is_here(site), site.path, view.span(site)))


def _location(session: Session, view: FileView, site: Site) -> dict[str, Any] | None:
    return location(session, Path(site.path), view.span(site))
