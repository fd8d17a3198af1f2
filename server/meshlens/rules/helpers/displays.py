"""Edits of literal tuples and lists: removing an item, or replacing a literal with its only item."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_CLOSING = {"(": ")", "[": "]"}


def is_display(view: FileView, site: Site) -> bool:
    """Returns whether a site is a tuple in parentheses or a list, written without comments."""
    text = view.text(site)
    return len(text) > 2 and _CLOSING.get(text[0]) == text[-1] and "#" not in text


def without_item(view: FileView, display: Site, item: Site) -> FileEdit | None:
    """Removes an item other than the first; if only one item remains, removes the brackets too."""
    whole, span = view.span(display), view.span(item)
    source = view.text(display).encode()
    before = source[: span.start - whole.start].rstrip()
    after = source[span.end - whole.start :].strip()
    if not before.endswith(b","):
        return None
    kept = before[1:-1].strip()
    if after in (b")", b",)", b"]", b",]") and b"," not in kept:
        return FileEdit(view.path_of(display), Edit(whole, kept.decode()))
    return FileEdit(view.path_of(display), Edit(Span(whole.start + len(before) - 1, span.end), ""))


def only_item(view: FileView, display: Site, item: Site) -> FileEdit | None:
    """Replaces a tuple or list with its only item; None if that literal does not contain exactly this item."""
    if not is_display(view, display) or not view.span(display).contains(view.span(item)):
        return None
    inside = view.text(display)[1:-1].strip().removesuffix(",").strip()
    if inside != view.text(item):
        return None
    return FileEdit(view.path_of(display), Edit(view.span(display), inside))
