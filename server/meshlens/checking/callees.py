"""The part of a call or decorator that names the callee."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Site
from meshlens.project.view import FileView
from meshlens.text import Span


def callee_span(view: FileView, site: Site, name: str) -> Span:
    """Returns the span of the expression that names a callable in a call, a decorator or a `partial(…)`.

    Args:
        view: the file.
        site: the call or the decorator.
        name: the last part of the callable's usual name; `pmap` finds `jax.pmap` in `partial(jax.pmap, "i")`.
    """
    whole = view.span(site)
    source = view.texts[site.path][whole.start : whole.end]
    found = re.search(rb"[\w.]*\b" + re.escape(name.encode()) + rb"\b", source)
    if found is not None:
        return Span(whole.start + found.start(), whole.start + found.end())
    head = re.match(rb"[\w.]+", source)
    return Span(whole.start, whole.start + head.end()) if head is not None else whole
