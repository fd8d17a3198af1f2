"""How a map splits its arguments over devices and stacks its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any, NamedTuple

from meshlens.axes.data import transfer
from meshlens.axes.data.arrays import is_array, shape_of, sizes
from meshlens.axes.data.coordinates import split_by
from meshlens.axes.data.exchanges import of_own_keys
from meshlens.axes.data.moments import leaving
from meshlens.axes.data.noise import ALL_KEYS, OF_PROCESS
from meshlens.axes.data.operating import of_all
from meshlens.axes.data.sharded_shapes import part_of, size_of_axis, whole_of
from meshlens.axes.data.transfer import across
from meshlens.axes.domain.joining import join_all, labels_of, variation_of
from meshlens.axes.domain.labels import NONE, ON_DEVICES, OWN_AVERAGE, WRITTEN, of_kinds, travelling, without_dimensions
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Binder,
    Const,
    Data,
    Dict,
    Instance,
    Made,
    Seq,
    Site,
    Spec,
    Union,
    Value,
)
from meshlens.axes.domain.variation import (
    ALIKE,
    ANYTHING,
    APART,
    COLUMNS,
    DIFFERS,
    EVERYWHERE,
    GIVEN,
    MEAN,
    NOT_KNOWN,
    PAIRS_MEAN,
    RATIO,
    ROW,
    ROWS,
    SHARE,
    SOME_AXIS,
    SUM,
    VARYING,
    ZERO,
    Along,
    Variation,
    is_apart,
    is_different,
    is_same,
    joined,
    with_axes,
    without_axes,
)
from meshlens.axes.jax.parameter_trees import module_of
from meshlens.axes.jax.train_states import is_state, is_static
from meshlens.axes.python.outside import axes_of
from meshlens.axes.runs.heap import altered, attributes_of
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST, entries_for, fields_of, with_fields
from meshlens.axes.worth.spending import walked

_MOST_SPECS = 64
_ASSEMBLED = "jax.make_array_from_"
"""The beginning of the names of functions that assemble an array from pieces."""


def axis_of(binder: Binder, place: int, label: str | None) -> Value:
    """Returns the axis that an argument is mapped over: a constant integer, None, a structure of these, or unknown."""
    if binder.kind in ("pmap", "vmap"):
        given = binder.argument("in_axes")
        if label is not None or given is None:
            return Const(0) if not any(name in ("*", "**") for name, _ in binder.arguments) else UNKNOWN
        return _entry(given.value, place)
    given = binder.argument("in_specs")
    if given is None or label is not None:
        return UNKNOWN
    return _entry(given.value, place) if isinstance(given.value, (Seq, Spec, Const, Data)) else UNKNOWN


def _entry(value: Value, place: int) -> Value:
    if isinstance(value, Seq):
        if value.open or place >= len(value.items):
            return UNKNOWN
        return value.items[place]
    return value


def is_shared(entry: Value) -> bool | None:
    """Returns whether every device gets the whole value: an axis of None or an empty spec; None if unknown."""
    if isinstance(entry, Const):
        return entry.value is None
    if isinstance(entry, Spec):
        if entry.open:
            return None
        known = [item for item in entry.entries if not (isinstance(item, Const) and item.value is None)]
        return not known
    return None


def has_entry_for_each(binder: Binder, args: Sequence[Arg]) -> bool:
    """Returns whether a map may have an axis or a spec for each argument; if not, JAX raises an error."""
    given = binder.argument("in_specs" if binder.kind == "shard_map" else "in_axes")
    entries = given.value if given is not None else None
    if not isinstance(entries, Seq) or entries.kind != "tuple" or entries.open:
        return True
    return len(entries.items) == len(args) or any(arg.label is not None for arg in args)


def entering(run: Run, binder: Binder, place: int, arg: Arg) -> Value:
    """Returns an argument as the mapped function sees it."""
    if binder.kind == "axis_env":
        return arg.value
    if is_static_place(binder, place):
        # A static argument is hashed, so it is not an array and is the same on all devices.
        return replace(arg.value, over=EVERYWHERE) if isinstance(arg.value, Data) else arg.value
    if arg.label in ("*", "**"):
        return Data(frozenset({"varying"}))
    entry = axis_of(binder, place, arg.label)
    if binder.objects is not None and _is_unknown(arg.value) and arg.label is None:
        whole = _entry(binder.objects, place)
        # A named tuple of specs reveals the class of an unknown argument.
        entry = whole if isinstance(whole, Instance) else entry
    # Each part of a value is split on its own, however often it occurs, and compared with its entry.
    run.work += walked(arg.value, [given for _, given in binder.arguments])
    return _enter(run, binder, place, arg.value, entry)


def _argument(binder: Binder, place: int) -> tuple[str, tuple[Any, int]]:
    """Returns the label of values computed from an argument of a map."""
    return ("argument", (binder.site, place))


def _enter(run: Run, binder: Binder, place: int, value: Value, entry: Value, depth: int = 0) -> Value:
    label = _argument(binder, place)
    value = _shaped_like(value, entry)
    if isinstance(entry, Instance) and (module := module_of(value)) is not None and module.cls == entry.cls:
        # The arrays of a module get a tree of specs with the same structure.
        value = module
    if isinstance(value, Seq):
        parts = entry.items if isinstance(entry, Seq) and len(entry.items) == len(value.items) else None
        if value.open and isinstance(entry, Seq) and entry.items and not entry.open:
            parts = (join_all(entry.items),) * len(value.items)
        entries = parts or (entry,) * len(value.items)
        items = tuple(
            _enter(run, binder, place, item, own, depth) for item, own in zip(value.items, entries, strict=True)
        )
        return Seq(value.kind, items, value.open)
    if isinstance(value, Dict):
        given_entries = dict(entry.items) if isinstance(entry, Dict) else {}
        pairs: list[tuple[Any, Value]] = []
        for key, item in value.items:
            own = given_entries.pop(key, entry)
            pairs.append((key, _enter(run, binder, place, item, own, depth)))
        if value.open and isinstance(entry, Dict) and not entry.open:
            # A dictionary with other keys than the specs raises an error.
            pairs += [(key, _enter(run, binder, place, UNKNOWN, own, depth)) for key, own in given_entries.items()]
        return Dict(tuple(pairs), value.open)
    if isinstance(value, Union):
        entered = (_enter(run, binder, place, item, entry, depth) for item in value.options)
        return Union(tuple(dict.fromkeys(entered)))
    if isinstance(value, Instance) and depth < DEEPEST and fields_of(run, value):
        given = entries_for(run, value, entry)

        def mapped(name: str, held: Value) -> Value:
            own = given.get(name, UNKNOWN) if given is not None else entry
            return _enter(run, binder, place, held, own, depth + 1)

        return with_fields(run, value, mapped, binder.site)
    if isinstance(value, Instance) and not is_shared(entry):
        # How its class is flattened is unknown, so its arrays may be split.
        sized = {name: held for name, held in attributes_of(run, value).items() if shape_of(held)}
        args = tuple([Arg(name, _without_sizes(held), None, None) for name, held in sized.items()])
        return altered(run, value, args, binder.site) if args else value
    if isinstance(value, Data) and isinstance(entry, Instance) and depth < DEEPEST and fields_of(run, entry):
        return with_fields(run, entry, lambda _, own: _enter(run, binder, place, value, own, depth + 1), binder.site)
    if isinstance(value, Made) and value.dotted.startswith(_ASSEMBLED):
        return _enter(run, binder, place, Data(value.labels | {"of-jax"}, array=True), entry, depth)
    if is_state(value):
        assert isinstance(value, Made)
        arrays = _enter(run, binder, place, Data(value.labels), entry, depth)
        return replace(value, labels=labels_of(arrays), over=variation_of(arrays))
    if isinstance(value, (Data, Const)):
        shared = is_shared(entry)
        if shared and isinstance(value, Const):
            return value
        if isinstance(value, Const) and not isinstance(value.value, (int, float)):
            return value
        labels = (value.labels if isinstance(value, Data) else frozenset()) - {"varying", "fresh", "reduced", "sharded"}
        labels = labels if shared else without_dimensions(labels)
        if binder.kind != "vmap" and labels.isdisjoint(("gradient", "of-gradient")):
            # What was averaged before the map says nothing of the loss in it.
            labels -= {"mean"}
        labels |= split_by(entry, axes_of(binder)) if binder.kind == "shard_map" else NONE
        over = given_over(binder, value, entry)
        labels, copied = _without_copy(labels, shared, entry, binder)
        if shared:
            extra = {label} if binder.kind == "vmap" else {label, "same", *_all_keys(binder, value, entry)}
        elif binder.kind == "vmap":
            extra = {label}
            labels = labels | (value.labels & {"varying"} if isinstance(value, Data) else frozenset())
        else:
            labels -= {"same"}
            extra = {label, "varying", "entered", *_differs(binder, value, shared)}
        if not shared and "keys" in labels:
            labels = labels - {"keys"} | {"key"} | of_own_keys(Data(over=over))
        shape = value.shape if isinstance(value, Data) else ()
        if copied is not None and binder.kind not in ("shard_map", "smap"):
            over = with_axes(over, axes_of(binder), Along(GIVEN, VARYING))
            extra = {*extra, copied} - {"data"}
        return Data(labels | extra, _without_axis(shape, entry, binder), None, is_array(value), over)
    return value


def _all_keys(binder: Binder, value: Data | Const, entry: Value) -> frozenset[Any]:
    """Returns the label of keys that a spec gives to every device, although there is one for each of them."""
    if not isinstance(value, Data) or "keys" not in value.labels or not isinstance(entry, Spec) or entry.site is None:
        return NONE
    count = value.shape[0] if value.shape else None
    sizes = [size_of_axis(binder.mesh, axis) for axis in axes_of(binder)]
    known = [size for size in sizes if size is not None and size > 1]
    is_one_for_each = count in known or (len(known) == len(sizes) and count == prod(known))
    return NONE | {(ALL_KEYS, entry.site)} if is_one_for_each else NONE


def _shaped_like(value: Value, entry: Value) -> Value:
    """Gives an unknown value the structure of its entry in `in_specs` or `in_axes`; returns other values unchanged."""
    is_bare = isinstance(value, Seq) and value.open and not value.items
    if not is_bare and not _is_unknown(value):
        return value
    part = value if isinstance(value, Data) else UNKNOWN
    if isinstance(entry, Dict) and entry.items and not entry.open:
        return Dict(tuple([(key, part) for key, _ in entry.items]))
    if isinstance(entry, Seq) and entry.items and not entry.open and entry.kind in ("tuple", "list"):
        return Seq(entry.kind, (part,) * len(entry.items))
    return value


def _is_unknown(value: Value) -> bool:
    """Returns whether a value may be any tree."""
    return isinstance(value, Data) and not value.array and value.shape is None


def _without_sizes(value: Value) -> Value:
    if isinstance(value, Data):
        return replace(value, shape=None, array=True)
    return replace(value, arguments=()) if isinstance(value, Made) else value


def _without_copy(
    labels: frozenset[Any], shared: bool | None, entry: Value, binder: Binder
) -> tuple[frozenset[Any], tuple[Any, ...] | None]:
    """Returns the labels of a device's share of repeated copies, and the label of the place that made the copies."""
    copies = [label for label in labels if isinstance(label, tuple) and label[0] == "copies"]
    if shared or not copies:
        return labels, None
    labels -= set(copies)
    if len(copies) > 1 or not isinstance(entry, Const) or entry.value != 0:
        return labels, None
    _, site, count = copies[0]
    rest = {("copies", site, count - 1)} if count > 1 else set()
    return labels | rest, ("copied", site)


def given_over(binder: Binder, value: Data | Const, entry: Value) -> Variation:
    """Returns the variation of the part of an argument that each device gets."""
    over = variation_of(value)
    axes = axes_of(binder)
    if binder.kind == "vmap" and not (isinstance(entry, Const) and entry.value is None):
        is_first = isinstance(entry, Const) and entry.value == 0
        over = across(transfer.entered_by_row if is_first else transfer.mixed, over)
    if isinstance(entry, Const):
        if entry.value is None:
            return with_axes(over, axes, ALIKE)
        return with_axes(over, axes, Along(_split(value, over, entry), VARYING))
    if isinstance(entry, Spec) and not entry.open:
        shape = value.shape if isinstance(value, Data) else None
        return _sharded(over, entry, axes, len(shape) if shape is not None else None)
    specs = _specs(entry)
    if specs:
        # One value stands for a tree of arrays, each with a spec of its own.
        return reduce(joined, [given_over(binder, value, spec) for spec in specs])
    return with_axes(over, axes, NOT_KNOWN)


def _specs(entry: Value) -> list[Spec]:
    """Returns the specs in a container; none if a part of it is unknown."""
    if not isinstance(entry, (Seq, Dict)) or entry.open or len(entry.items) > _MOST_SPECS:
        return []
    items = [item[1] if isinstance(item, tuple) else item for item in entry.items]
    specs = [item for item in items if isinstance(item, Spec) and not item.open]
    return specs if len(specs) == len(items) else []


def _split(value: Data | Const, over: Variation, entry: Const) -> str:
    """Returns the truth of an array split over devices along one of its axes."""
    if over.rest.truth == ZERO:
        return ZERO
    shape = value.shape if isinstance(value, Data) else None
    if shape is None and "sharded" in labels_of(value) and entry.value == 0:
        return ROWS
    labels = labels_of(value)
    if shape is None or ("uniform" in labels and WRITTEN not in labels) or entry.value != 0:
        return APART
    return ROWS if len(shape) > 1 else ROW


def _sharded(over: Variation, spec: Spec, axes: tuple[str, ...], rank: int | None) -> Variation:
    rest, named = ALIKE, {}
    for place, entry in enumerate(spec.entries):
        truth = COLUMNS if place > 0 and place + 1 == rank else DIFFERS
        truth = ZERO if over.rest.truth == ZERO else ROWS if place == 0 else truth
        for one in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(one, Const) and isinstance(one.value, str):
                named[one.value] = Along(truth, VARYING)
            elif not (isinstance(one, Const) and one.value is None):
                rest = NOT_KNOWN
                named[SOME_AXIS] = Along(truth, VARYING)
    over = with_axes(over, axes, rest)
    for name, along in named.items():
        over = with_axes(over, (name,), along)
    return over


def _differs(binder: Binder, value: Value, shared: bool | None) -> frozenset[str]:
    """Returns the label `data` if the devices get different parts; in a `pmap`, these must certainly not be copies."""
    if shared is None:
        return frozenset()
    known = isinstance(value, Data) and value.shape is not None and "uniform" not in value.labels
    return frozenset({"data"}) if known or binder.kind != "pmap" else frozenset()


def _without_axis(shape: tuple[int | None, ...] | None, entry: Value, binder: Binder) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    if isinstance(entry, Spec):
        return part_of(shape, entry, binder.mesh)
    if not isinstance(entry, Const):
        return None
    if entry.value is None:
        return shape
    if isinstance(entry.value, int) and 0 <= entry.value < len(shape) and binder.kind in ("pmap", "vmap"):
        return shape[: entry.value] + shape[entry.value + 1 :]
    return None


def is_static_place(binder: Binder, place: int) -> bool:
    """Returns whether the argument at a position is static for `pmap`."""
    given = binder.argument("static_broadcasted_argnums")
    if given is None:
        return False
    value = given.value
    if isinstance(value, Const):
        return bool(value.value == place)
    return isinstance(value, Seq) and Const(place) in value.items


def stacked(run: Run, binder: Binder, returned: Value, depth: int = 0, spec: Value | None = None) -> Value:
    """Returns the result of a mapped function as its caller sees it."""
    if binder.kind == "axis_env":
        return UNKNOWN
    if spec is None:
        given = binder.argument("out_specs") if binder.kind == "shard_map" else None
        spec = given.value if given is not None else UNKNOWN
    if isinstance(returned, Seq):
        alike = isinstance(spec, Seq) and not spec.open and len(spec.items) == len(returned.items)
        specs = spec.items if alike and isinstance(spec, Seq) else (spec,) * len(returned.items)
        parts = zip(returned.items, specs, strict=True)
        return Seq(returned.kind, tuple(stacked(run, binder, item, depth, own) for item, own in parts), returned.open)
    if isinstance(returned, Dict):
        held = spec if isinstance(spec, Spec) else UNKNOWN
        parts_of_dict = ((key, stacked(run, binder, item, depth, held)) for key, item in returned.items)
        return Dict(tuple(parts_of_dict), returned.open)
    if isinstance(returned, Instance) and depth < DEEPEST and fields_of(run, returned):
        entries = entries_for(run, returned, spec)

        def assembled(name: str, held: Value) -> Value:
            own = entries.get(name, UNKNOWN) if entries is not None else spec
            return stacked(run, binder, held, depth + 1, own if own is not None else UNKNOWN)

        return with_fields(run, returned, assembled, binder.site)
    if depth and is_static(returned):
        return returned
    if returned.__class__ is Data and binder.kind == "vmap":
        inner_over = across(transfer.left_by_row, without_axes(variation_of(returned), axes_of(binder)))
    else:
        inner_over = ANYTHING
    labels = labels_of(returned)
    kept: frozenset[object] = labels & {"mean"} | {"of-jax"}
    if binder.kind == "vmap":
        kept |= {label for label in labels if isinstance(label, tuple) and label[0] in _OF_KEYS}
        # Values that the enclosing maps split still differ in the result.
        kept |= {"varying" for _, along in inner_over.axes if along.typed == VARYING and is_apart(along.truth)}
    if binder.kind == "pmap" and binder.argument("out_axes") is None:
        kept |= frozenset(of_kinds(labels, OWN_AVERAGE))
        is_alike = "varying" not in labels
        kept |= {"replicated-result"} if "reduced" in labels and is_alike else NONE
        over = variation_of(returned)
        # The state of a training library stays the same on all devices if its gradients are reduced.
        is_alike |= isinstance(returned, Made) and is_state(returned) and "met" in labels
        if is_alike or all(is_same(over.over(axis).truth) for axis in axes_of(binder)):
            copies = {("copies", place, 1) for _, place in of_kinds(labels, "copied")}
            kept |= copies | {ON_DEVICES} if copies else NONE
    if returned.__class__ is Data and binder.kind in ("pmap", "shard_map"):
        is_stacked = binder.argument("out_axes") is None if binder.kind == "pmap" else is_shared(spec) is False
        kept |= leaving(returned, axes_of(binder), is_stacked)
    shape = returned.shape if isinstance(returned, Data) and isinstance(spec, Spec) else None
    if isinstance(returned, Made) and is_state(returned):
        return replace(returned, labels=kept, over=inner_over)
    whole = whole_of(shape, spec, binder.mesh) if shape is not None and isinstance(spec, Spec) else None
    kept |= {"uniform"} if whole is not None else set()
    return Data(kept, whole, None, is_array(returned), inner_over)


def with_rows(binder: Binder, result: Value, returned: Value, args: Sequence[Arg]) -> Value:
    """Returns the result of a `vmap` or `pmap` with a first dimension in each array, the default of `out_axes`.

    Arrays that a `pmap` returns may be the same on all devices, unless they certainly differ.

    Args:
        binder: the map.
        result: its result, without shapes.
        returned: the result of the mapped function for one row, or on one device.
        args: the arguments of the call.
    """
    out_axes = binder.argument("out_axes")
    if out_axes is not None and out_axes.value != Const(0):
        return result
    sizes = [_rows_of(arg.value, axis_of(binder, place, arg.label)) for place, arg in enumerate(args)]
    rows = next((size for size in sizes if size is not None), None)
    return _stacked_rows(result, returned, rows, () if binder.kind == "vmap" else axes_of(binder))


def _rows_of(value: Value, entry: Value) -> int | None:
    """Returns the size of the dimension of an array that a `vmap` maps over; None if it is unknown."""
    place = entry.value if isinstance(entry, Const) else None
    shape = shape_of(value)
    return shape[place] if type(place) is int and shape is not None and 0 <= place < len(shape) else None


def _stacked_rows(result: Value, returned: Value, rows: int | None, axes: tuple[str, ...]) -> Value:
    if type(result) is Data and result.shape is None:
        shape = shape_of(returned)
        if shape is None:
            return result
        over = variation_of(returned)
        may_be_alike = bool(axes) and not all(is_different(over.over(axis).truth) for axis in axes)
        labels = result.labels | {"uniform"} if may_be_alike else result.labels
        return replace(result, shape=(rows, *shape), labels=labels)
    if isinstance(result, Seq) and isinstance(returned, Seq) and len(result.items) == len(returned.items):
        pairs = zip(result.items, returned.items, strict=True)
        return Seq(result.kind, tuple([_stacked_rows(one, row, rows, axes) for one, row in pairs]), result.open)
    if isinstance(result, Dict) and isinstance(returned, Dict) and len(result.items) == len(returned.items):
        known = dict(returned.items)
        parts = [(key, _stacked_rows(one, known.get(key, UNKNOWN), rows, axes)) for key, one in result.items]
        return Dict(tuple(parts), result.open, result.attributes)
    return result


_MAY_COMMUNICATE = frozenset({"scratch_shapes", "compiler_params", "grid_spec", "mesh", "*", "**"})


def kernel_result(binder: Binder, args: tuple[Arg, ...]) -> Value:
    """Returns the result of a Pallas kernel: arrays of the given shapes, computed from the arguments.

    A kernel with scratch memory or compiler parameters may exchange its arrays with other devices.
    """
    named = {name for name, _ in binder.arguments}
    over = ANYTHING if named & _MAY_COMMUNICATE else of_all(arg.value for arg in args)
    labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
    given = binder.argument("out_shape")
    return _outcome(given.value if given is not None else UNKNOWN, Data(labels, over=over))


def _outcome(shapes: Value, result: Data) -> Value:
    if isinstance(shapes, Seq):
        return Seq(shapes.kind, tuple([_outcome(item, result) for item in shapes.items]), shapes.open)
    if isinstance(shapes, Made) and shapes.dotted == "jax.ShapeDtypeStruct":
        found = dict(shapes.arguments)
        shape = found.get("shape", found.get(0))
        return replace(result, shape=sizes(shape) if shape is not None else None, array=True)
    return result


_OF_KEYS = frozenset({"drawn", "alike", "copied", OF_PROCESS})
_OF_ROWS = frozenset({SUM, MEAN, RATIO, SHARE, PAIRS_MEAN})


def one_per_device(run: Run, binder: Binder, returned: Value, result: Value, call: Site) -> Value:
    """Returns the result of a `pmap` with labels on each device's own mean, sum or count."""
    given = binder.argument("out_axes")
    return _own(run, binder, returned, result, _Place(call, given.value if given is not None else Const(0)))


def adds_up(run: Run, binder: Binder, returned: Value, args: Sequence[Arg]) -> bool:
    """Returns whether a map without an axis name gives each device's part of several totals.

    The devices of such a map may run without each other, such as members of a population. But if they share an array,
    such as the parameters, and each returns sums over its own rows, such as a loss and a count, these are parts of
    totals, and at least one of them depends on the shared array.
    """
    axes = axes_of(binder)
    sums = [one for one in _arrays_of_tree(run, returned) if any(one.over.over(axis).truth == SUM for axis in axes)]
    if len(sums) < 2:
        return False
    shared = {_argument(binder, place) for place, arg in enumerate(args) if _holds_shared(run, arg.value, axes)}
    return any(not shared.isdisjoint(one.labels) for one in sums)


def _arrays_of_tree(run: Run, tree: Value, depth: int = 0) -> list[Data]:
    if isinstance(tree, Data):
        return [tree]
    if depth >= DEEPEST:
        return []
    if isinstance(tree, (Seq, Dict)):
        parts = [item[1] if isinstance(item, tuple) else item for item in tree.items]
    else:
        parts = list((fields_of(run, tree) or {}).values())
    return [leaf for part in parts for leaf in _arrays_of_tree(run, part, depth + 1)]


def _holds_shared(run: Run, tree: Value, axes: tuple[str, ...]) -> bool:
    """Returns whether an argument holds an array that is the same on all devices, and not a key or a number."""
    return any(
        one.shape != () and "key" not in one.labels and all(is_same(one.over.over(axis).truth) for axis in axes)
        for one in _arrays_of_tree(run, tree)
    )


class _Place(NamedTuple):
    """A call to a map, and the axis along which a part of its results is stacked."""

    call: Site
    axis: Value


def _own(run: Run, binder: Binder, returned: Value, result: Value, place: _Place) -> Value:
    axis = place.axis
    if isinstance(returned, Seq) and isinstance(result, Seq):
        entries = axis.items if isinstance(axis, Seq) and not axis.open else (axis,) * len(returned.items)
        if len(entries) != len(returned.items) or len(result.items) != len(returned.items):
            return result
        parts = zip(returned.items, result.items, entries, strict=True)
        items = [_own(run, binder, one, other, place._replace(axis=own)) for one, other, own in parts]
        return replace(result, items=tuple(items))
    if isinstance(returned, Dict) and isinstance(result, Dict):
        pairs = zip(returned.items, result.items, strict=True)
        held = [(key, _own(run, binder, one, other, place)) for (_, one), (key, other) in pairs]
        return replace(result, items=tuple(held))
    if isinstance(returned, Instance) and isinstance(result, Instance):
        inner = fields_of(run, returned) or {}

        def own(name: str, value: Value) -> Value:
            # A tree may contain itself.
            return _own(run, binder, inner[name], value, place) if isinstance(inner.get(name), Data) else value

        return with_fields(run, result, own, place.call) if inner else result
    if not (isinstance(result, Data) or (isinstance(result, Made) and is_state(result))) or axis != Const(0):
        return result
    if "own-statistics" in labels_of(returned):
        return replace(result, labels=result.labels | {("apart", place.call)})
    if not isinstance(returned, Data):
        return result
    truths = [variation_of(returned).over(axis).truth for axis in axes_of(binder)]
    if any(truth in _OF_ROWS or (returned.shape == () and is_different(truth)) for truth in truths):
        return replace(result, labels=result.labels | {("apart", place.call)})
    return result
