"""Notes where random numbers that are the same on every device are combined with data that differs between devices."""

from __future__ import annotations

from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import NONE, ON_COPIES, ON_DEVICES, of_kinds
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Made, Seq, Site, Spec, Value
from meshlens.axes.domain.variation import ROW, ROWS, VARYING, is_apart, is_different, is_same
from meshlens.axes.python.outside import axes_of, device_map
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import GradientUse, RandomUse
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.libraries import DRAWS_IF

SHARDS = frozenset({"addressable_shards", "global_shards"})
"""Attributes of an array that list what each device holds."""

_MOST_LEAVES = 100
_FIRST = Const(0)
_FOLDED, DECIDED = "folded", "decided"
"""The kinds of labels of keys into which an index was folded, and of decisions about an exchange."""
ALL_KEYS, OF_PROCESS = "all-keys", "of-process"
"""The kinds of labels of keys that a spec gives to every device, although there is one for each of them, and of what is
computed from the index of a process that has several devices."""
_ALONG, APART, _NOISED = "drawn-along", "drawn-apart", "noised"
"""The kinds of labels of random numbers that are the same along one axis of a map but not along all, of random numbers
that differ along an axis, and of rows that were the same along that axis until combined with such numbers."""


def on_devices(ctx: Context) -> bool:
    """Returns whether the code runs inside a map over devices."""
    maps = ctx.env.maps
    return bool(maps) and any(binder.kind in MAPS_ON_DEVICES for binder in maps)


def is_shared(value: Value, ctx: Context) -> bool:
    """Returns whether a value is certainly the same on every device of the innermost map over devices."""
    binder = device_map(ctx)
    over = variation_of(value)
    return binder is not None and all(is_same(over.over(axis).truth) for axis in axes_of(binder))


def handed_to_model(run: Run, model: Value, call: Invocation) -> None:
    """Notes a shared key among the `rngs` passed to a model, unless it may be a missing one, or draws nothing."""
    args, site, ctx = call.args, call.site, call.ctx
    for arg in args:
        if arg.label != "rngs" or arg.site is None or not on_devices(ctx) or not _draws(model, args):
            continue
        keys = tuple(value for _, value in arg.value.items) if isinstance(arg.value, Dict) else (arg.value,)
        for key in keys:
            labels = labels_of(key)
            if labels and is_alike(key, ctx):
                run.records.random_uses.append(RandomUse(site, arg.site, labels, ctx, "apply"))


def _draws(model: Value, args: tuple[Arg, ...]) -> bool:
    """Returns whether a model may draw when it is called: not after `train=False`."""
    given = {arg.label: arg.value for arg in args}
    made = dict(model.arguments) if isinstance(model, Made) else {}
    switches = [(draws, given.get(name, made.get(name))) for name, draws in DRAWS_IF.items()]
    return not any(isinstance(value, Const) and value.value is (not draws) for draws, value in switches)


def given_to_model(key: Arg | None) -> Data | None:
    """Returns the keys that a haiku function derives from its key; None if it gets no key."""
    if key is None or key.site is None:
        return None
    return Data(labels_of(key.value) | {("handed", key.site)}, over=variation_of(key.value))


def place_of_key(key: Arg) -> Site | None:
    """Returns where a key became the same on all devices or was passed to a model; otherwise where it is used."""
    labels = labels_of(key.value)
    for kind in ("copied", "handed"):
        places = list(of_kinds(labels, kind))
        if len(places) == 1:
            place: Site = places[0][1]
            return place
    return key.site


def handed_to_dropout(run: Run, key: Arg | None, data: Arg | None, call: Invocation) -> None:
    """Notes a shared key that is used for dropout on each device's data."""
    site, ctx = call.site, call.ctx
    if key is None or data is None or not on_devices(ctx) or not is_alike(key.value, ctx):
        return
    if isinstance(key.value, Const) or not _draws(call.callee, call.args):
        return
    place, labels = place_of_key(key), labels_of(key.value)
    if place is not None and _certainly_differs(data.value, ctx):
        run.records.random_uses.append(RandomUse(site, place, labels, ctx, "dropped", made=sharer_of(labels)))


def summed_on_host(run: Run, labels: frozenset[Any], site: Site, ctx: Context) -> frozenset[Any]:
    """Notes a sum, outside any map, of a value that all devices hold; returns the labels of the sum."""
    if "replicated-result" not in labels or ctx.env.maps:
        return frozenset()
    run.records.gradient_uses.append(GradientUse("host-reduced", site, None, ctx))
    return frozenset({("host-sum", site)})


def note_device(run: Run, value: Data, index: Value, site: Site, ctx: Context) -> None:
    """Notes where code outside all maps takes the mean or sum of device 0, or of other devices too."""
    if index == _FIRST:
        note_first_device(run, value, site, ctx)
        return
    if isinstance(index, Const) and isinstance(index.value, str):
        return
    for _, call in of_kinds(value.labels, "apart"):
        run.records.gradient_uses.append(GradientUse("other-of-devices", site, call, ctx))


def note_first_device(run: Run, value: Value, site: Site, ctx: Context) -> None:
    """Notes where, in the function that calls a map, code outside all maps keeps only device 0's mean or sum."""
    if ctx.env.maps:
        return
    if isinstance(value, (Seq, Dict)):
        for part in value.items:
            note_first_device(run, part[1] if isinstance(part, tuple) else part, site, ctx)
        return
    for part in (fields_of(run, value) or {}).values():
        if isinstance(part, Data):
            note_first_device(run, part, site, ctx)
    for _, call in of_kinds(labels_of(value), "apart"):
        places = [site, *(step.site for step in reversed(ctx.route))]
        place = next((one for one in places if _is_beside(one, call)), None)
        if place is not None:
            run.records.gradient_uses.append(GradientUse("first-of-devices", place, call, ctx))


def note_saved(run: Run, saved: Arg, ctx: Context) -> None:
    """Notes that code saves a state that has a copy on each device."""
    waiting, seen = [saved.value], 0
    while waiting and saved.site is not None and seen < _MOST_LEAVES:
        value, seen = waiting.pop(), seen + 1
        if isinstance(value, Seq):
            waiting.extend(value.items)
        elif isinstance(value, Dict):
            waiting.extend([item for _, item in value.items])
        waiting.extend((fields_of(run, value) or {}).values())
        labels = labels_of(value)
        for _, place, _ in of_kinds(labels, "copies") if ON_DEVICES in labels else ():
            run.records.gradient_uses.append(GradientUse("copies-saved", saved.site, place, ctx))
            return


def note_shards(run: Run, array: Data, site: Site, ctx: Context) -> None:
    """Notes that code lists the shards of an array, several of which are copies."""
    if ON_COPIES in array.labels:
        run.records.gradient_uses.append(GradientUse("copies-listed", site, None, ctx))


def _is_beside(one: Site, other: Site) -> bool:
    """Returns whether two places are in the same function, or both at the top level of a file."""
    are_at_top = one.block.startswith("=") and other.block.startswith("=")
    return one.path == other.path and (one.block == other.block or are_at_top)


def of_folding(number: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of a key into which a number is folded, one for each axis along which the number differs."""
    binder = device_map(ctx) if "index" in labels_of(number) else None
    if binder is None:
        return NONE
    over = variation_of(number)
    return frozenset([(_FOLDED, site, axis) for axis in axes_of(binder) if is_different(over.over(axis).truth)])


def is_alike(value: Value, ctx: Context) -> bool:
    """Returns whether a value is the same on every device, or differs only between processes that have several."""
    labels = labels_of(value)
    return is_shared(value, ctx) or ("varying" not in labels and bool(of_kinds(labels, OF_PROCESS)) and on_devices(ctx))


def maker_of(labels: frozenset[Any]) -> Site | None:
    """Returns the only place that decided which devices have the same key, by folding in an index or by a spec."""
    return _only_place(labels, _FOLDED, ALL_KEYS, OF_PROCESS)


def sharer_of(labels: frozenset[Any]) -> Site | None:
    """Returns the only place that made a key the same on devices that need different ones."""
    return _only_place(labels, ALL_KEYS, OF_PROCESS)


def _only_place(labels: frozenset[Any], *kinds: str) -> Site | None:
    places = {label[1] for label in of_kinds(labels, *kinds)}
    return places.pop() if len(places) == 1 else None


def of_draw(key: Arg, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of numbers drawn with a key that differs between devices: how they vary along each axis."""
    binder = device_map(ctx)
    over = variation_of(key.value)
    axes = axes_of(binder) if binder is not None else ()
    truths = {axis: over.over(axis).truth for axis in axes}
    if "index" not in labels_of(key.value) and not any(map(is_different, truths.values())):
        return NONE
    alike = [(_ALONG, site, key.site, axis) for axis, truth in truths.items() if is_same(truth)]
    apart = [(APART, site, key.site, axis) for axis, truth in truths.items() if is_different(truth)]
    return frozenset([*alike, *apart])


def noised(operands: tuple[Value, ...]) -> frozenset[Any]:
    """Returns the labels to add if rows are the same along an axis but combined with random numbers that differ."""
    marks = {label for operand in operands for label in of_kinds(labels_of(operand), APART)}
    return frozenset(
        [
            (_NOISED, call, key, axis)
            for _, call, key, axis in marks
            if any(_are_shared_rows(operand, axis) for operand in operands)
        ]
    )


def _are_shared_rows(value: Value, axis: str) -> bool:
    """Returns whether a value is each device's own, such as rows of a batch, but the same along one axis."""
    over = variation_of(value)
    is_own = any(is_apart(along.truth) and along.typed == VARYING for _, along in over.axes)
    return is_own and is_same(over.over(axis).truth)


def note_multiplied(run: Run, left: Value, right: Value, ctx: Context) -> None:
    """Notes that rows with a label from `noised` are multiplied by parameters that are split over the same axis."""
    for label in of_kinds(labels_of(left), _NOISED):
        _, call, key, axis = label
        if is_different(variation_of(right).over(axis).truth) and of_kinds(labels_of(right), "argument"):
            run.records.random_uses.append(
                RandomUse(call, key, frozenset([label]), ctx, "noised", made=_only_place(labels_of(left), _FOLDED))
            )


def note_laid_out(run: Run, spec: Value, returned: Value, ctx: Context) -> None:
    """Notes results of a `shard_map` that are computed from random numbers that are the same along the spec's axes.

    A dimension of one entry is left out, as the first of `x[None]`: so code returns a copy from each device on purpose.
    """
    if isinstance(returned, (Seq, Dict)):
        items = [item[1] if isinstance(item, tuple) else item for item in returned.items]
        specs = _specs_of(spec, returned)
        for own, item in zip(specs, items, strict=True):
            note_laid_out(run, own, item, ctx)
        return
    if fields := fields_of(run, returned):
        for held in fields.values() if isinstance(spec, Spec) else ():
            if isinstance(held, Data):
                note_laid_out(run, spec, held, ctx)
        return
    labels = labels_of(returned)
    if not isinstance(spec, Spec) or spec.open or not of_kinds(labels, _ALONG, "drawn"):
        return
    for place, entry in enumerate(spec.entries):
        for one in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(one, Const) and isinstance(one.value, str):
                _note_laid(run, returned, (place, one.value), ctx)


def _specs_of(spec: Value, returned: Seq | Dict) -> list[Value]:
    """Returns the spec of each part of a result."""
    if isinstance(spec, Spec):
        return [spec] * len(returned.items)
    if isinstance(spec, Dict) and isinstance(returned, Dict):
        return [spec.get(key) or UNKNOWN for key, _ in returned.items]
    is_alike = isinstance(spec, Seq) and not spec.open and len(spec.items) == len(returned.items)
    if isinstance(spec, Seq) and is_alike and isinstance(returned, Seq):
        return list(spec.items)
    return [UNKNOWN] * len(returned.items)


def _note_laid(run: Run, value: Value, along: tuple[int, str], ctx: Context) -> None:
    """Notes a result that is the same along an axis, but split over it along one of its dimensions."""
    place, axis = along
    labels, shape = labels_of(value), shape_of(value)
    if not is_same(variation_of(value).over(axis).truth):
        return
    size = shape[place] if shape is not None and place < len(shape) else None
    is_one_number, is_mean = shape == (1,), "mean" in labels
    if size != 1 and not (is_mean and shape is None):
        _note_beside(run, labels, axis, ctx)
    if is_shared(value, ctx) and (is_one_number and is_mean if size == 1 else shape is not None):
        for _, call, key in of_kinds(labels, "drawn"):
            made = sharer_of(labels)
            run.records.random_uses.append(RandomUse(call, key, labels, ctx, "laid", made=made))


def _note_beside(run: Run, labels: frozenset[Any], axis: str, ctx: Context) -> None:
    made = _only_place(labels, _FOLDED)
    for _, call, key, along in of_kinds(labels, _ALONG):
        if along == axis:
            run.records.random_uses.append(RandomUse(call, key, labels, ctx, "beside", made=made))


def note_gathered(run: Run, value: Value, names: tuple[str, ...], ctx: Context) -> None:
    """Notes an `all_gather` of numbers that were drawn with a key that several devices along its axes share."""
    if isinstance(value, (Seq, Dict)):
        for item in value.items:
            note_gathered(run, item[1] if isinstance(item, tuple) else item, names, ctx)
        return
    labels, over = labels_of(value), variation_of(value)
    if is_alike(value, ctx) and names == ctx.env.names:
        for _, call, key in of_kinds(labels, "drawn"):
            run.records.random_uses.append(RandomUse(call, key, labels, ctx, "laid", made=sharer_of(labels)))
    if "mean" in labels or not of_kinds(labels, _ALONG):
        return
    for axis in names:
        if is_same(over.over(axis).truth):
            _note_beside(run, labels, axis, ctx)


def axis_of(use: RandomUse) -> str:
    """Returns the axis of a use of kind "along", "noised", "beside" or "exchanged", the first if there are several."""
    axes = [str(axis) for _, call, _, axis in of_kinds(use.labels, _ALONG, _NOISED, DECIDED) if call == use.call]
    return min(axes)


def meet(run: Run, operands: tuple[Value, ...], ctx: Context) -> None:
    """Notes an elementwise operation that combines shared random numbers with data that differs between devices.

    Args:
        run: the run.
        operands: the operands.
        ctx: the context.
    """
    parts = tuple([labels_of(operand) for operand in operands])
    if not any(parts):
        return
    for operand, labels in zip(operands, parts, strict=True):
        for _, call, key, axis in of_kinds(labels, _ALONG):
            is_alike = is_same(variation_of(operand).over(axis).truth)
            if is_alike and any(variation_of(other).over(axis).truth in (ROWS, ROW) for other in operands):
                made = _only_place(labels, _FOLDED)
                run.records.random_uses.append(RandomUse(call, key, labels, ctx, "along", made=made))
    if not any(_certainly_differs(operand, ctx) for operand in operands):
        return
    for labels in parts:
        if "varying" in labels:
            continue
        for _, call, key in of_kinds(labels, "drawn"):
            run.records.random_uses.append(RandomUse(call, key, labels, ctx, "noise", made=sharer_of(labels)))


def _certainly_differs(value: Value, ctx: Context) -> bool:
    """Returns whether a value certainly differs between devices; an unknown spec in a `shard_map` may replicate it."""
    labels, binder = labels_of(value), device_map(ctx)
    if binder is None or "varying" not in labels:
        return False
    if binder.kind not in ("shard_map", "smap") or not labels.isdisjoint({"data", "index"}):
        return True
    over = variation_of(value)
    return any(is_different(over.over(axis).truth) for axis in axes_of(binder))
