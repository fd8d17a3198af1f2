"""Entries of `in_axes` and `out_axes` that are wrong for every call: lists, negative axes, values other than ints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.joining import leaves
from meshlens.axes.domain.values import Arg, Const, Seq, Site
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.checking.model import Finding, Fix
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.project.writing.literals import is_string
from meshlens.rules.helpers.entries import as_tuple
from meshlens.text import Edit, FileEdit, Span


def badly_written(view: FileView, wanted: frozenset[str]) -> Iterator[Finding]:
    """Yields a finding for each entry of `in_axes` or `out_axes` that is wrong for every call of its map.

    Args:
        view: the file.
        wanted: canonical names of the maps to check.
    """
    groups: dict[tuple[Site, str], list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if canonical(binding.binder.dotted) in wanted:
            for parameter in ("in_axes", "out_axes"):
                groups[(binding.binder.site, parameter)].append(binding)
    for (_, parameter), group in groups.items():
        found = certain((one, one.context, bool(_faults(view, one, parameter))) for one in group)
        if found is not None:
            yield from _faults(view, found, parameter)


def _faults(view: FileView, binding: Binding, parameter: str) -> list[Finding]:
    arg = binding.binder.argument(parameter)
    if arg is None or arg.site is None or not view.is_here(arg.site):
        return []
    pmap = canonical(binding.binder.dotted) == "jax.pmap"
    value = arg.value
    if pmap and isinstance(value, Seq) and value.kind == "list" and view.text(arg.site).startswith("["):
        message = f"{parameter} is a list; pmap needs a tuple"
        edits = as_tuple(view, arg.site) if parameter == "in_axes" else ()
        return [Finding(view.span(arg.site), message, (Fix("change to a tuple", edits),) if edits else ())]
    found = []
    for leaf in leaves(value):
        if not isinstance(leaf, Const):
            continue
        finding = _fault(view, binding, arg, leaf, parameter, pmap=pmap)
        if finding is not None:
            found.append(finding)
    return found


def _fault(view: FileView, binding: Binding, arg: Arg, leaf: Const, parameter: str, *, pmap: bool) -> Finding | None:
    span = _place(view, arg, leaf)
    name = "pmap" if pmap else "vmap"
    if isinstance(leaf.value, (bool, float, str)):
        kind = type(leaf.value).__name__
        fixes = _as_name(view, arg) if isinstance(leaf.value, str) and parameter == "in_axes" else ()
        hint = "; pass the axis name as axis_name" if fixes else ""
        article = "a bool" if kind == "bool" else "a float" if kind == "float" else "a string"
        shown = f'"{leaf.value}"' if isinstance(leaf.value, str) else str(leaf.value)
        return Finding(span, f"{parameter} takes ints or None, but {shown} is {article}{hint}", fixes)
    if pmap and isinstance(leaf.value, int) and leaf.value < 0:
        fixes = _counted_from_the_front(view, binding, arg, leaf, parameter)
        return Finding(span, f"{name} does not support negative axes, but {parameter} has {leaf.value}", fixes)
    return None


def _place(view: FileView, arg: Arg, leaf: Const) -> Span:
    assert arg.site is not None
    whole = view.span(arg.site)
    origin = view.span(leaf.origin) if leaf.origin is not None and view.is_here(leaf.origin) else None
    if origin is None or not whole.contains(origin):
        return whole
    return view.span(arg.whole) if origin == whole and arg.whole is not None and view.is_here(arg.whole) else origin


def _as_name(view: FileView, arg: Arg) -> tuple[Fix, ...]:
    """Makes the string in `vmap(f, "batch")` the axis name."""
    if arg.label is not None or arg.site is None or not is_string(view.text(arg.site)):
        return ()
    at = view.span(arg.site).start
    return (Fix("pass as axis_name", (FileEdit(view.path, Edit(Span(at, at), "axis_name=")),)),)


def _counted_from_the_front(view: FileView, binding: Binding, arg: Arg, leaf: Const, parameter: str) -> tuple[Fix, ...]:
    """Writes the same axis counted from 0, if the calls show how many axes there are."""
    assert arg.site is not None
    if arg.value is not leaf:
        return ()
    ranks = {_rank(call, parameter) for call in view.records.calls_of_maps if call.binder.site == binding.binder.site}
    rank = ranks.pop() if len(ranks) == 1 else None
    if rank is None or rank + leaf.value < 0:
        return ()
    edit = FileEdit(view.path, Edit(view.span(arg.site), str(rank + leaf.value)))
    return (Fix(f"change to {rank + leaf.value}", (edit,)),)


def _rank(call: MappedCall, parameter: str) -> int | None:
    if parameter == "out_axes":
        shape = shape_of(call.returned)
        return len(shape) + 1 if shape is not None else None
    shapes = {shape_of(arg.value) for arg in call.args}
    shape = shapes.pop() if len(shapes) == 1 else None
    return len(shape) if shape is not None else None
