"""Keyword arguments passed to the function that `shard_map` returns, which takes only positional ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Site
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Fix, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.miscounts import keyword_arguments, positional
from meshlens.text import Edit, FileEdit, Span

_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})


def keywords_of_shard_maps(view: FileView) -> Iterator[Finding]:
    """Yields a finding for the first keyword argument of each call to a function that `shard_map` returned."""
    places: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) in _MAPS:
            places[call.call].append(call)
    for calls in places.values():
        found = certain((call, call.context, bool(keyword_arguments(call))) for call in calls)
        keyword = keyword_arguments(found)[0] if found is not None else None
        if found is None or keyword is None or keyword.whole is None or not view.is_here(keyword.whole):
            continue
        binder = found.binder.site
        related = Related(view.path_of(binder), view.span(binder), "mapped here")
        name = name_of(found.binder.operand)
        message = f'"{name}" is mapped by shard_map and takes no keyword arguments; pass this by position'
        yield Finding(view.span(keyword.whole), message, _by_position(view, found, keyword), (related,))


def _by_position(view: FileView, call: MappedCall, keyword: Arg) -> tuple[Fix, ...]:
    """Removes the keyword if it names the next parameter."""
    names = [one.parameters for one in view.records.bindings if one.binder.site == call.binder.site]
    parameters = [name for name, how, _ in names[0] or () if how == "any"] if names else []
    count = positional(call)
    if count is None or len(keyword_arguments(call)) != 1 or parameters[count : count + 1] != [keyword.label]:
        return ()
    assert keyword.whole is not None and keyword.site is not None
    edit = Edit(Span(view.span(keyword.whole).start, view.span(keyword.site).start), "")
    return (Fix("pass by position", (FileEdit(view.path, edit),)),)
