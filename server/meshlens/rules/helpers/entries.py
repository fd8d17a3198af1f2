"""Finds the entries of literal tuples, lists and dictionaries, and adds entries to them."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import DictDisplay, ListDisplay, TupleDisplay
from meshlens.facts.walking import nodes_around
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


def entries_at(view: FileView, site: Site | None) -> tuple[Site, ...] | None:
    """Returns the sites of a tuple's or list's items, or of a dictionary's values; None if there is no literal."""
    if site is None or not view.is_here(site):
        return None
    block = view.facts.blocks.get(site.block)
    for node in nodes_around(block, site.index) if block is not None else ():
        if isinstance(node, (TupleDisplay, ListDisplay, DictDisplay)) and node.site == site.index:
            items = [item.value for item in node.pairs] if isinstance(node, DictDisplay) else node.items
            return tuple(Site(site.path, site.block, item.site) for item in items)
    return None


def with_entry(view: FileView, site: Site, place: int, text: str) -> tuple[FileEdit, ...]:
    """Adds an entry to a literal tuple or list before a position; () if there is no literal in brackets."""
    items = entries_at(view, site)
    whole = view.text(site)
    if items is None or whole[0] not in "([" or whole[-1] not in ")]" or "#" in whole:
        return ()
    if place < len(items):
        at = view.span(items[place]).start
        return (FileEdit(view.path, Edit(Span(at, at), f"{text}, ")),)
    end = view.span(site).end - 1
    inside = view.source[view.span(site).start : end].rstrip()
    at = view.span(site).start + len(inside)
    if not items:
        return (FileEdit(view.path, Edit(Span(at, end), f"{text},")),)
    comma = " " if inside.endswith(b",") else ", "
    return (FileEdit(view.path, Edit(Span(at, at), f"{comma}{text}")),)


def as_tuple(view: FileView, site: Site) -> tuple[FileEdit, ...]:
    """Writes a list as a tuple; () if there is no literal list."""
    items, text, span = entries_at(view, site), view.text(site), view.span(site)
    if items is None or not text.startswith("[") or not text.endswith("]"):
        return ()
    comma = "," if len(items) == 1 and not text[:-1].rstrip().endswith(",") else ""
    return (
        FileEdit(view.path, Edit(Span(span.start, span.start + 1), "(")),
        FileEdit(view.path, Edit(Span(span.end - 1, span.end), f"{comma})")),
    )


def place_of(view: FileView, site: Site | None, path: tuple[int, ...]) -> Site | None:
    """Returns the entry at the end of a path into nested literals; stops at the first entry that is not a literal."""
    for place in path:
        entries = entries_at(view, site)
        if entries is None or place >= len(entries):
            return site
        site = entries[place]
    return site
