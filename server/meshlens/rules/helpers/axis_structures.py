"""Compares `in_axes` with the values that calls pass, and `out_axes` with what the function returns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.values import Arg, Const, Seq, Site
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.entries import entries_at, place_of
from meshlens.rules.helpers.miscounts import keyword_arguments, positional
from meshlens.rules.helpers.prefixes import Mismatch, mismatch
from meshlens.rules.helpers.static import static_places
from meshlens.text import Edit, FileEdit, Span

_ATTRIBUTE = re.compile(r"[^\W\d]\w*(\.\w+)+")


def unlike_values(view: FileView, wanted: frozenset[str]) -> Iterator[Finding]:
    """Yields findings for axes whose structure or value does not fit the arguments or results.

    Args:
        view: the file.
        wanted: canonical names of the maps to check.
    """
    calls: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        if canonical(call.binder.dotted) in wanted:
            calls[call.binder.site].append(call)
    for group in calls.values():
        for compare, parameter in ((_of_arguments, "in_axes"), (_of_result, "out_axes")):
            found = certain((call, call.context, compare(call) is not None) for call in group)
            differs = compare(found) if found is not None else None
            if found is not None and differs is not None:
                yield from _unlike(view, found, differs, parameter)
        found = certain((call, call.context, _beyond_rank(view, call) is not None) for call in group)
        beyond = _beyond_rank(view, found) if found is not None else None
        if found is not None and beyond is not None:
            yield from _too_far(view, found, *beyond)
        found = certain((call, call.context, _nothing_mapped(call)) for call in group)
        given = found.binder.argument("in_axes") if found is not None else None
        if found is not None and given is not None and given.site is not None and view.is_here(given.site):
            message = f"{found.binder.kind} needs a mapped argument, but every entry of in_axes is None"
            yield Finding(view.span(given.site), message)
        found = certain((call, call.context, _nothing_passed(call)) for call in group)
        if found is not None and view.is_here(found.call) and view.text(found.call).endswith("()"):
            yield Finding(
                view.span(found.call), f"{found.binder.kind} needs a mapped argument, but the call passes none"
            )


def _of_arguments(call: MappedCall) -> Mismatch | None:
    given = call.binder.argument("in_axes")
    if given is None or positional(call) is None:
        return None
    statics = static_places(call.binder)
    for place, arg in enumerate(call.args):
        if arg.label is None and place not in statics:
            found = mismatch(axis_of(call.binder, place, None), arg.value, (place,))
            if found is not None:
                return found
    return None


def _of_result(call: MappedCall) -> Mismatch | None:
    given = call.binder.argument("out_axes")
    return mismatch(given.value, call.returned) if given is not None else None


def _unlike(view: FileView, call: MappedCall, differs: Mismatch, parameter: str) -> Iterator[Finding]:
    given = call.binder.argument(parameter)
    site = place_of(view, given.site if given is not None else None, differs.path)
    if site is None or not view.is_here(site):
        return
    if parameter == "in_axes":
        message = f"in_axes has {differs.given} for argument {differs.path[0]}, but the call passes {differs.wanted}"
    else:
        message = f'out_axes has {differs.given}, but "{name_of(call.binder.operand)}" returns {differs.wanted}'
    yield Finding(view.span(site), message, _with_keys(view, site, differs))


def _with_keys(view: FileView, site: Site, differs: Mismatch) -> tuple[Fix, ...]:
    entries, text = entries_at(view, site), view.text(site)
    if not differs.missing or not entries or not text.endswith("}"):
        return ()
    at = view.span(entries[-1]).end
    edit = FileEdit(view.path, Edit(Span(at, at), "".join(f', "{key}": 0' for key in differs.missing)))
    why = "the value may be meant to be replicated (None)"
    return (Fix("map the missing keys over axis 0", (edit,), "suggestion", why),)


def _is_attribute(view: FileView, arg: Arg) -> bool:
    """Returns whether an argument is an attribute such as `self.rate`, which another method may have made an array."""
    return arg.site is None or _ATTRIBUTE.fullmatch(view.text(arg.site)) is not None


def _nothing_passed(call: MappedCall) -> bool:
    """Returns whether nothing determines the map's size: there are no arguments and, for a `vmap`, no `axis_size`."""
    given = call.binder.argument("in_axes")
    if call.args or not (call.exact and call.visible) or (given is not None and not isinstance(given.value, Const)):
        return False
    arguments = {name for name, _ in call.binder.arguments}
    return not arguments & {"*", "**"} and (call.binder.kind == "pmap" or "axis_size" not in arguments)


def _nothing_mapped(call: MappedCall) -> bool | None:
    """Returns whether no argument is mapped although the map needs one to determine its size."""
    given = call.binder.argument("in_axes")
    if given is None or positional(call) is None or keyword_arguments(call) or not call.args:
        return None
    if call.binder.kind == "vmap" and call.binder.argument("axis_size") is not None:
        return False
    entries = given.value.items if isinstance(given.value, Seq) and not given.value.open else (given.value,)
    return bool(entries) and all(isinstance(entry, Const) and entry.value is None for entry in entries)


def _beyond_rank(view: FileView, call: MappedCall) -> tuple[int, int, int] | None:
    """Returns the argument, axis and rank if an argument has fewer axes than `in_axes` requires."""
    statics = static_places(call.binder)
    for place, arg in enumerate(call.args):
        if arg.label == "*":
            break
        axis = axis_of(call.binder, place, None)
        if arg.label is not None or place in statics or arg.whole is None or not isinstance(axis, Const):
            continue
        shape = shape_of(arg.value)
        if shape == () and (call.binder.kind == "pmap" or _is_attribute(view, arg)):
            continue
        if shape is not None and type(axis.value) is int and axis.value >= len(shape):
            return place, axis.value, len(shape)
    return None


def _too_far(view: FileView, call: MappedCall, place: int, axis: int, rank: int) -> Iterator[Finding]:
    given = call.binder.argument("in_axes")
    entries = entries_at(view, given.site) if given is not None else None
    site = entries[place] if entries and place < len(entries) else call.args[place].site
    if site is not None and view.is_here(site):
        has = counted(rank, "axis", "axes")
        yield Finding(view.span(site), f"argument {place} has {has}, but in_axes maps axis {axis}")
