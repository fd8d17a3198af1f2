"""Checks that `vmap` can replace a pmap: it supports the collectives, and unmapped outputs are equal on all devices."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import Const, Dict, Function, Seq, Site, Value
from meshlens.axes.runs.records import AxisUse
from meshlens.facts.nodes import NOTHING, Call, Comprehension
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.refactoring.following.averaging import out_axes_as_written
from meshlens.refactoring.maps.pmap import Obstacle, Pmap
from meshlens.refactoring.maps.prefix import Entries, Items, Prefix
from meshlens.refactoring.maps.readable import paths_of
from meshlens.refactoring.reading.functions import functions

# Measured on JAX 0.10.2: every other collective behaves the same under vmap as under pmap.
_UNKNOWN_TO_VMAP = frozenset({"pcast", "pvary", "ragged_all_to_all", "psend", "precv", "pbroadcast"})
_CALLBACKS = (b"pure_callback", b"io_callback", b"host_callback")
_IN_BATCHES = (b"rbg",)


def must_work_under_vmap(view: FileView, pmap: Pmap) -> None:
    """Checks that a vmap gives the same results as a pmap.

    Raises:
        Obstacle: the results differ, or might differ.
    """
    for use in uses_under(view, pmap.binder.site):
        _must_be_known(view, use)
    files = sorted(paths_of(view, pmap) | {use.call.path for use in uses_under(view, pmap.binder.site)})
    for path in files:
        text, name = view.texts[path], path.rsplit("/", 1)[-1]
        if any(word in text for word in _CALLBACKS):
            raise Obstacle("callback", f"{name} uses host callbacks, which vmap runs once for all rows")
        if any(word in text for word in _IN_BATCHES):
            raise Obstacle("rbg-keys", f'{name} uses "rbg" keys, which draw different numbers under vmap')
    results = [call.returned for call in pmap.calls] or [Const(None)]
    has_unmapped = any(True for one in results for _ in _unmapped(pmap.out_axes, one))
    if not has_unmapped or _are_made_same(view, pmap):
        return
    for call in pmap.calls:
        if not all(map(_is_same, _unmapped(pmap.out_axes, call.returned))):
            raise Obstacle("unreduced-output", "out_axes=None keeps the value of device 0, but vmap has no device 0")
    if not pmap.calls:
        raise Obstacle("unreduced-output", "out_axes=None keeps a value that may differ between devices")


def uses_under(view: FileView, site: Site) -> Iterator[AxisUse]:
    """Yields the uses of axis names, in any file, that run under the map applied at a site."""
    for records in view.solution.by_file.values():
        for use in records.uses:
            if any(binder.site == site for binder in use.context.env.maps):
                yield use


def _are_made_same(view: FileView, pmap: Pmap) -> bool:
    """Returns whether the function makes every result whose `out_axes` entry is `None` equal on all devices."""
    operand, axes = pmap.binder.operand, pmap.in_axes
    target = next((one for one in functions(view) if isinstance(operand, Function) and one.site == operand.site), None)
    if target is None or isinstance(axes, Entries):
        return False
    items = axes.items if isinstance(axes, Items) else (axes,) * len(target.parameters)
    out = out_axes_as_written(view, target, tuple(None if item is None else 0 for item in items))
    if not isinstance(pmap.out_axes, Items) or not isinstance(out, Items):
        return out is None
    pairs = zip(pmap.out_axes.items, out.items, strict=False)
    is_complete = len(out.items) == len(pmap.out_axes.items)
    return is_complete and all(wanted is not None or made is None for wanted, made in pairs)


def _must_be_known(view: FileView, use: AxisUse) -> None:
    line = view.texts[use.call.path].count(b"\n", 0, view.span(use.call).start) + 1
    name = use.call.path.rsplit("/", 1)[-1]
    where = f"line {line}" if view.is_here(use.call) else f"{name}, line {line}"
    arguments = dict(use.arguments)
    groups = arguments.get("axis_index_groups")
    if groups is not None and groups.value != Const(None):
        raise Obstacle("index-groups", f"{where} uses axis_index_groups, which vmap does not support")
    if use.kind in _UNKNOWN_TO_VMAP:
        raise Obstacle("collective", f'{where} uses "{use.kind}", which has no equivalent under vmap')
    if use.kind == "ppermute" and not _is_full(view, arguments["perm"].site if "perm" in arguments else None):
        raise Obstacle("partial-permutation", f"{where} may leave indices out of perm, but vmap needs all of them")


def _is_full(view: FileView, perm: Site | None) -> bool:
    """Returns whether a permutation is written with one pair for every index."""
    path = path_to(view, perm) if perm is not None else ()
    node = path[-1] if path else NOTHING
    return (
        isinstance(node, Comprehension)
        and len(node.clauses) == 1
        and not node.clauses[0].conditions
        and isinstance(node.clauses[0].iterable, Call)
    )


def _unmapped(axes: Prefix, value: Value) -> Iterator[Value]:
    """Yields the parts of a result whose `out_axes` entry is `None`."""
    if axes is None:
        yield value
    elif isinstance(axes, Items):
        for place, item in enumerate(axes.items):
            parts = value.items if isinstance(value, Seq) and len(value.items) == len(axes.items) else ()
            yield from _unmapped(item, parts[place] if parts else value)
    elif isinstance(axes, Entries):
        for key, item in axes.items:
            part = value.get(key) if isinstance(value, Dict) else None
            yield from _unmapped(item, part if part is not None else value)


def _is_same(value: Value) -> bool:
    if isinstance(value, Seq):
        return not value.open and all(map(_is_same, value.items))
    if isinstance(value, Dict):
        return not value.open and all(_is_same(item) for _, item in value.items)
    labels = labels_of(value)
    return isinstance(value, Const) or ("varying" not in labels and bool(labels & {"reduced", "same", "met"}))
