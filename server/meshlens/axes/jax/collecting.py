"""Handles collectives and axis queries: records the axes that each one uses, and computes its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshlens.axes.data import transfer
from meshlens.axes.data.arrays import is_array, shape_of
from meshlens.axes.data.collected_shapes import shape_after
from meshlens.axes.data.coordinates import after_collective, note_exchanged
from meshlens.axes.data.exchanges import received
from meshlens.axes.data.gradients import OWN_MEAN
from meshlens.axes.data.halos import sent_edge
from meshlens.axes.data.mixing import note_sent, of_collective
from meshlens.axes.data.noise import note_gathered, sharer_of
from meshlens.axes.data.parts import OWN_INDEX, averaged, highest, note_logarithms, note_parts
from meshlens.axes.data.pipelines import note_sent_on, note_summed
from meshlens.axes.data.positions import ALL_ROWS, gathered_positions, note_ranked
from meshlens.axes.data.rings import note_hop, note_move
from meshlens.axes.data.running_averages import note_combined
from meshlens.axes.data.slices import note_averaged, note_reduced, note_shared
from meshlens.axes.domain.axis_sizes import SOME_COUNT, size_along_all
from meshlens.axes.domain.joining import labels_of, options, variation_of, variations_in
from meshlens.axes.domain.labels import (
    AXIS_SIZE,
    COUNT,
    NONE,
    OWN_MOMENTS,
    QUOTIENT_HERE,
    UPDATES_APART,
    UPDATES_MET,
    after_reduction,
    of_kinds,
    travelling,
)
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Instance, Seq, Site, Union, Value
from meshlens.axes.domain.variation import (
    ANYTHING,
    CURVED,
    EVERYWHERE,
    MEAN,
    NOT_KNOWN,
    NUMBER,
    PAIRS_MEAN,
    PIECE,
    RATIO,
    ROWS,
    SHARE,
    SHIFTED,
    SOME_AXIS,
    VARYING,
    Along,
    Variation,
    is_same,
    of,
    with_axes,
)
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.optimizers import MOMENTS_MET
from meshlens.axes.jax.traced import of_reduction
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import AxisUse, GradientUse, RandomUse
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of, with_fields
from meshlens.jaxapi.collectives import Collective

INDEX = Along(NUMBER, VARYING)
_REDUCES = frozenset({"sum", "mean", "max", "min"})


def apply_collective(run: Run, row: Collective, call: Invocation) -> Value:
    """Records the use of every axis of a collective, and returns its result."""
    site, ctx = call.site, call.ctx
    found = by_parameter(row.parameters, call.args)
    operand = found.get(row.operand) if row.operand is not None else None
    given = operand.value if operand is not None else UNKNOWN
    fields = fields_of(run, given)
    value = Seq("tuple", tuple(fields.values())) if fields else given
    axis = found.get(row.axis_parameter)
    labels = labels_of(value)
    if axis is not None:
        note_uses(run, row.name, axis, call, tuple(found.items()), labels)
    elif "*" not in found and "**" not in found:
        return UNKNOWN
    if axis is not None and isinstance(axis.value, Seq) and not axis.value.items and not axis.value.open:
        return given
    names = names_of(axis.value) if axis is not None else ()
    if not ctx.env.open and not {*names} <= {*ctx.env.names}:
        # JAX raises an error here, so nothing after it can be judged.
        return Data(travelling(labels) | {"opaque"}, None, None, is_array(value))
    is_tiled = "tiled" in found and found["tiled"].value == Const(True)
    if row.reduces in _REDUCES or (shape_of(value) in (None, ()) and not is_tiled):
        # Gathered norms may be added later; other gathered arrays may have been scaled by one.
        note_reduced(run, labels, ctx)
    if row.communicates:
        note_combined(run, value, site, ctx)
        note_shared(run, labels, ctx)
    if row.reduces == "mean":
        note_averages(run, value, names, call, _AVERAGED)
        _note_own_means(run, labels, names, call, "ratio-averaged")
    if row.reduces == "sum":
        _note_own_means(run, labels, names, call, "own-means-summed")
        note_averages(run, value, names, call, _SUMMED_GRADIENTS if "of-gradient" in labels else _SUMMED)
        note_parts(run, value, names, site, ctx)
        note_summed(run, labels, names, site, ctx)
    if row.reduces == "scatter" and "of-gradient" in labels:
        note_averages(run, value, names, call, _SCATTERED_GRADIENTS)
    if row.reduces == "gather":
        note_gathered(run, value, names, ctx)
    if row.communicates and row.reduces not in _REDUCES:
        note_exchanged(run, labels, ctx)
    if row.name == "all_to_all":
        note_sent(run, value, found, names, ctx)
    if row.reduces in ("sum", "mean"):
        note_logarithms(run, value, names, site, ctx)
        note_averaged(run, labels, names, site, ctx)
        note_updates(run, labels, call)
        note_ranked(run, labels, names, ctx)
        note_repeats(run, call, value, names, row.reduces == "sum" and "axis_index_groups" not in found)
    is_plain = axis is not None and _are_known(axis.value) and "axis_index_groups" not in found and "to" not in found
    is_plain |= row.reduces == "cast"
    perm = found["perm"].value if "perm" in found and len(names) == 1 else None
    if isinstance(given, Instance) and fields:

        def of_field(_: str, held: Value) -> Value:
            collected = result(row, held, labels_of(held), site, names, is_plain)
            return received(collected, perm, names[0]) if perm is not None else collected

        return with_fields(run, given, of_field, site)
    answer = of_reduction(result(row, value, labels, site, names, is_plain), value, names, ctx)
    if perm is not None:
        note_move(run, perm, names[0], site, ctx)
        note_hop(run, value, perm, names[0], ctx)
        note_sent_on(run, value, names[0])
        answer = received(answer, perm, names[0])
        if isinstance(answer, Data):
            answer = sent_edge(value, perm, answer, names[0])
    if isinstance(answer, Data) and (split := after_collective(row.name, value, found, names)):
        answer = replace(answer, labels=answer.labels | split)
    counts = row.reduces == "size" or (row.reduces == "sum" and isinstance(value, Const) and value.value == 1)
    if counts and isinstance(answer, Data) and "axis_index_groups" not in found:
        size = size_along_all(ctx.env, names)
        return replace(answer, labels=answer.labels | {(COUNT, size) if size is not None else SOME_COUNT})
    if isinstance(answer, Data) and isinstance(value, Data) and value.shape is not None and answer.shape is None:
        shape = shape_after(row.reduces, row.name, value.shape, found, ctx.env, names)
        return replace(answer, labels=answer.labels | of_collective(row.name, found, names), shape=shape)
    return answer


def names_of(axis: Value) -> tuple[str, ...]:
    """Returns the known axis names in an axis argument."""
    return tuple(name.value for name in _names(axis) if isinstance(name, Const) and isinstance(name.value, str))


def _are_known(axis: Value) -> bool:
    """Returns whether all the names in an axis argument are known."""
    if isinstance(axis, Seq):
        return not axis.open and all(_are_known(item) for item in axis.items)
    return isinstance(axis, Const) and isinstance(axis.value, str)


def note_repeats(run: Run, call: Invocation, value: Value, names: tuple[str, ...], adds: bool) -> None:
    """Notes a sum of a value that is already summed, and a reduction of random numbers that are equal on all devices.

    Args:
        run: the run.
        call: the collective.
        value: the value that it reduces.
        names: the axes that it reduces over.
        adds: whether it is a sum over all devices of these axes.
    """
    site, ctx = call.site, call.ctx
    if isinstance(value, (Seq, Dict)):
        for item in value.items:
            note_repeats(run, call, item[1] if isinstance(item, tuple) else item, names, adds)
        return
    labels = labels_of(value)
    over = variation_of(value)
    if any(is_same(over.over(name).truth) for name in names) and "of-gradient" in labels:
        for _, draw, key in of_kinds(labels, "alike"):
            run.records.random_uses.append(RandomUse(draw, key, labels, ctx, "reduced", made=sharer_of(labels)))
    if "varying" in labels or "index" in labels:
        return
    # A tree may include a reduced value only so that it is divided together with the other values; in a model's
    # method, each device may have its own parameters.
    is_sum_of_alike = adds and bool(names) and all(is_same(over.over(name).truth) for name in names)
    is_sum_of_same = (
        is_sum_of_alike
        and not any(step.how == "run" for step in call.ctx.route)
        and isinstance(call.args[0].value, Data)
        and not any(isinstance(label, tuple) and label[0] == "over" for label in labels)
    )
    if is_sum_of_alike and shape_of(value) == () and "of-gradient" not in labels:
        # Every device has the total over the rows that it gathered from all of them.
        gathered = [place for _, axis, place in of_kinds(labels, ALL_ROWS) if axis in names]
        run.records.gradient_uses.extend([GradientUse("gathered-summed", site, place, ctx) for place in gathered])
    for label in of_kinds(labels, "over", "reduced-at", "drawn"):
        if label[0] == "over" and label[1] in names and adds and label[2] != site:
            run.records.gradient_uses.append(GradientUse("summed-again", site, label[2], ctx))
        elif label[0] == "reduced-at" and label[1] in names and label[2] != site and is_sum_of_same:
            run.records.gradient_uses.append(GradientUse("same-summed", site, label[2], ctx))
        elif label[0] == "drawn" and ("mean" in labels or is_sum_of_alike):
            made = sharer_of(labels)
            run.records.random_uses.append(RandomUse(label[1], label[2], labels, ctx, "reduced", made=made))


def note_updates(run: Run, labels: frozenset[Any], call: Invocation) -> None:
    """Notes a reduction of moments that an optimizer keeps of each device's own gradients."""
    for _, given in of_kinds(labels, OWN_MOMENTS):
        run.records.gradient_uses.append(GradientUse(MOMENTS_MET, given, call.site, call.ctx))


def note_averages(run: Run, value: Value, names: tuple[str, ...], call: Invocation, noted: Mapping[str, str]) -> None:
    """Notes a meaningless mean or sum over the devices, such as the mean of quotients of sums.

    Args:
        run: the run.
        value: the reduced value.
        names: the axes that it is reduced over.
        call: the collective.
        noted: the kind of record for each truth.
    """
    for over in variations_in(value):
        for name in names:
            kind = noted.get(over.over(name).truth)
            if kind is not None:
                run.records.gradient_uses.append(GradientUse(kind, call.site, None, call.ctx, name))


def _note_own_means(run: Run, labels: frozenset[Any], names: tuple[str, ...], call: Invocation, kind: str) -> None:
    kinds = (OWN_MEAN, QUOTIENT_HERE) if kind == "ratio-averaged" else (OWN_MEAN,)
    axes = {axis for _, axis in of_kinds(labels, *kinds)}
    run.records.gradient_uses.extend(
        GradientUse(kind, call.site, None, call.ctx, name) for name in names if name in axes
    )


_AVERAGED = {
    RATIO: "ratio-averaged",
    PAIRS_MEAN: "pairs-averaged",
    SHARE: "share-averaged",
    CURVED: "curved-averaged",
    PIECE: "pieces-averaged",
}
_SUMMED = {SHIFTED: "shifted-summed", MEAN: "means-summed"}
_SUMMED_GRADIENTS = {SHIFTED: "shifted-summed", MEAN: "mean-summed", RATIO: "mean-summed"}
_SCATTERED_GRADIENTS = dict.fromkeys((MEAN, RATIO), "mean-scattered")


def note_uses(
    run: Run,
    kind: str,
    axis: Arg,
    call: Invocation,
    arguments: tuple[tuple[str, Arg], ...] = (),
    labels: frozenset[object] = NONE,
) -> None:
    """Adds one record for each axis name in an argument.

    Args:
        run: the run.
        kind: the kind of the record.
        axis: the argument.
        call: the call that uses the axis.
        arguments: all arguments by parameter.
        labels: the labels of the reduced value.
    """
    site, ctx = call.site, call.ctx
    possible = options(axis.value)
    if len(possible) > 1:
        ctx = ctx._replace(conditional=True)
    for whole in possible:
        for name in _names(whole):
            if isinstance(name, Const) and isinstance(name.value, int):
                continue
            if isinstance(name, Const) and name.value is None and len(possible) > 1:
                continue
            run.records.uses.append(AxisUse(kind, site, axis.site, name, whole, arguments, ctx, labels))


def _names(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Seq):
        return tuple(name for item in value.items for option in options(item) for name in _names(option))
    return (value,)


def result(
    row: Collective,
    value: Value,
    labels: frozenset[object],
    site: Site,
    names: tuple[str, ...] = (),
    is_plain: bool = True,
) -> Value:
    """Returns a collective's result for a value; containers keep their structure."""
    if isinstance(value, Seq):
        items = tuple(result(row, item, labels_of(item), site, names, is_plain) for item in value.items)
        return Seq(value.kind, items, value.open)
    if isinstance(value, Dict):
        entries = tuple((key, result(row, item, labels_of(item), site, names, is_plain)) for key, item in value.items)
        return Dict(entries, value.open)
    if isinstance(value, Union):
        return Union(
            tuple(dict.fromkeys(result(row, item, labels_of(item), site, names, is_plain) for item in value.options))
        )
    # If all parts are alike, the result of `all_to_all` is the same on every device, as with `all_gather`.
    parts_may_be_alike = row.reduces == "to_all" and any(
        isinstance(label, tuple) and label[0] == "copies" for label in labels
    )
    value_over = variation_of(value)
    over = _over(row, value_over, names, is_plain and not parts_may_be_alike)
    if row.reduces == "index":
        own = {(OWN_INDEX, name) for name in names}
        return Data(frozenset({"index", "varying", *own}), (), over=with_axes(EVERYWHERE, names or (SOME_AXIS,), INDEX))
    if row.reduces == "size":
        return Data(AXIS_SIZE | {("size-of", name) for name in names}, (), over=EVERYWHERE)
    if row.reduces in _REDUCES:
        # A `psum` of a number counts devices and reduces nothing.
        kinds = ("over",) if isinstance(value, Const) else ("over", "reduced-at")
        after = after_reduction(labels) | {(kind, name, site) for name in names for kind in kinds}
        # A gradient that was reduced over one axis and then over another is reduced over both.
        after |= {one for one in labels if isinstance(one, tuple) and one[0] == "reduced-at" and one[1] not in names}
        if row.reduces in ("sum", "mean"):
            apart = [name for name in names if not is_same(value_over.over(name).truth)]
            after |= {
                (UPDATES_MET, given, site, name) for _, given in of_kinds(labels, UPDATES_APART) for name in apart
            }
        if row.reduces == "mean":
            after |= averaged(labels, names, site)
        if row.reduces == "max":
            after |= highest(labels, names)
        if row.reduces == "sum":
            after |= {("psum", site)}
            is_of_mean = any(value_over.over(name).truth in (MEAN, RATIO) for name in names)
            if ("gradient" in labels and "mean" in labels) or ("of-gradient" in labels and is_of_mean):
                after |= {("summed", site)}
        return Data(after, shape_of(value), None, is_array(value), over)
    if row.reduces == "gather":
        parts = [label for label in labels if isinstance(label, tuple) and label[0] == "argument"]
        # A value made of several arguments is not a sharded parameter.
        gathered = {("gathered", parts[0], name, site) for name in names} if len(parts) == 1 else NONE
        rows = {(ALL_ROWS, name, site) for name in names if value_over.over(name).truth == ROWS}
        positions = gathered_positions(value, names, site)
        return Data(after_reduction(labels) | gathered | rows | positions, None, None, is_array(value), over)
    if row.reduces == "scatter":
        is_of_mean = any(value_over.over(name).truth in (MEAN, RATIO) for name in names)
        is_summed = {"gradient", "mean"} <= labels or ("of-gradient" in labels and is_of_mean)
        summed = {("summed", site)} if is_summed else set()
        slices = {("slice", name, site) for name in names} if "of-gradient" in labels else NONE
        kept = after_reduction(labels) - {"reduced"} | {"varying"} | summed | slices
        return Data(kept, None, None, is_array(value), over)
    moved: frozenset[object] = frozenset({"varying"} if row.reduces == "cast" else {"opaque"})
    return Data(travelling(labels) | moved, None, None, is_array(value), over)


_COLLECTED = {
    "sum": transfer.totalled,
    "mean": transfer.averaged_over,
    "max": transfer.same_over,
    "min": transfer.same_over,
    "gather": transfer.gathered,
    "scatter": transfer.different_over,
    "permute": transfer.different_over,
    "to_all": transfer.divided_anew,
    "cast": transfer.cast_to_varying,
}


def _over(row: Collective, value: Variation, names: tuple[str, ...], is_plain: bool) -> Variation:
    """Returns the variation of a collective's result; mostly unknown if the axes or groups of devices are unknown."""
    how = transfer.gathered_invariant if row.name == "all_gather_invariant" else _COLLECTED.get(row.reduces)
    if how is None:
        return ANYTHING
    if not is_plain:
        # The axis or the group of devices is unknown: without a reduction, a varying value stays varying to JAX;
        # nothing else is known.
        stays = row.reduces in ("gather", "scatter", "permute", "to_all", "cast")
        kept = [(name, Along(typed=VARYING)) for name, along in value.axes if stays and along.typed == VARYING]
        return of(kept)
    known = frozenset([name for name, _ in value.axes])
    if SOME_AXIS in known and not known.issuperset(names):
        # The unknown axis may be one of those that it reduces.
        value = with_axes(value, (SOME_AXIS,), NOT_KNOWN)
    for name in names:
        value = with_axes(value, (name,), how(value.over(name)))
    return value
