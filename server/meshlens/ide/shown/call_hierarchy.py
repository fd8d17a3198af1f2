"""The call hierarchy by axis environment: the callers of a function with their maps, and its calls and collectives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import AxisEnv
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.shown.calls import Calls, Edge, calls_of, function_span, module_site
from meshlens.ide.shown.symbols import map_detail
from meshlens.ide.target import sites_at
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class CallItem:
    """A function, the top level of a file, or a collective.

    Attributes:
        name: its name; for a collective, text such as `psum "batch"`.
        detail: the maps around it: `pmap over "batch"`.
        kind: "function", "module" or "collective".
        path: its file.
        span: the whole definition or call.
        selection: its name, inside the span.
        site: its identifier, which survives edits elsewhere.
    """

    name: str
    detail: str
    kind: str
    path: Path
    span: Span
    selection: Span
    site: Site


@dataclass(frozen=True, slots=True)
class CallLink:
    """A caller or callee of a function, and the calls between the two.

    Attributes:
        item: the caller or the callee.
        spans: the calls, in the file of the caller.
    """

    item: CallItem
    spans: tuple[Span, ...]


def prepare_calls(view: FileView, offset: int) -> tuple[CallItem, ...]:
    """Returns the functions defined or called at the cursor, if a route leads through them.

    Args:
        view: the file.
        offset: the cursor.
    """
    calls = calls_of(view.solution)
    sites = sites_at(view, offset)
    word = next((site for site in sites if view.text(site).isidentifier()), None)
    if word is None:
        return ()
    if calls.knows(word):
        return (_function(view, word, _environments(calls, word)),)
    found = {edge.callee: None for edges in calls.out_of.values() for edge in edges if edge.site in sites}
    text = view.text(word)
    return tuple(_function(view, site, _environments(calls, site)) for site in found if text == _name(view, site))


def incoming_calls(view: FileView, site: Site) -> tuple[CallLink, ...]:
    """Returns the callers of a function, with the maps around each call.

    Args:
        view: any file of the workspace.
        site: the `site` of a `CallItem`.
    """
    edges = calls_of(view.solution).into.get(site, ())
    return tuple(_links(view, edges, [edge.caller for edge in edges]))


def outgoing_calls(view: FileView, site: Site) -> tuple[CallLink, ...]:
    """Returns the functions that a function calls, with the maps around them, then its collectives.

    Args:
        view: any file of the workspace.
        site: the `site` of a `CallItem`.
    """
    calls = calls_of(view.solution)
    edges = calls.out_of.get(site, ())
    return (*_links(view, edges, [edge.callee for edge in edges]), *_collectives(view, calls.uses.get(site, ())))


def _links(view: FileView, edges: Iterable[Edge], ends: Iterable[Site]) -> Iterator[CallLink]:
    by_end: dict[Site, list[Edge]] = {}
    for edge, end in zip(edges, ends, strict=True):
        if _exists(view, end) and _exists(view, edge.site):
            by_end.setdefault(end, []).append(edge)
    for end, found in by_end.items():
        spans = tuple(sorted({view.span(edge.site) for edge in found}))
        yield CallLink(_function(view, end, [edge.env for edge in found]), spans)


def _collectives(view: FileView, uses: Iterable[AxisUse]) -> Iterator[CallLink]:
    by_call: dict[Site, list[AxisUse]] = {}
    for use in uses:
        by_call.setdefault(use.call, []).append(use)
    for call, found in by_call.items():
        span = view.span(call)
        names = dict.fromkeys(f'"{name}"' for use in found if (name := literal_name(use.name)) is not None)
        detail = _words(use.context.env for use in found)
        name = f"{found[0].kind} {', '.join(names)}".rstrip()
        yield CallLink(CallItem(name, detail, "collective", view.path_of(call), span, span, call), (span,))


def _environments(calls: Calls, function: Site) -> list[AxisEnv]:
    return [
        *(edge.env for edge in calls.into.get(function, ())),
        *(use.context.env for use in calls.uses.get(function, ())),
    ]


def _function(view: FileView, site: Site, environments: Iterable[AxisEnv]) -> CallItem:
    path = view.path_of(site)
    if site == module_site(site.path):
        whole = Span(0, len(view.texts[site.path]))
        return CallItem(path.stem, _words(environments), "module", path, whole, Span(0, 0), site)
    name = _name(view, site)
    return CallItem(
        name, _words(environments), "function", path, function_span(view.solution, site), view.span(site), site
    )


def _name(view: FileView, site: Site) -> str:
    text = view.text(site)
    return text if text.isidentifier() else "lambda"


def _exists(view: FileView, site: Site) -> bool:
    facts = view.solution.facts.get(site.path)
    return facts is not None and (site == module_site(site.path) or site.block in facts.blocks)


def _words(environments: Iterable[AxisEnv]) -> str:
    """Returns the maps around code, innermost first; alternatives are separated by a bar."""
    return " | ".join(dict.fromkeys(_maps(env) for env in environments))


def _maps(env: AxisEnv) -> str:
    words = [map_detail(binder) for binder in reversed(env.maps)]
    return ", ".join((*words, *(["…"] if env.open else []))) or "outside any map"
