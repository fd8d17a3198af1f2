"""Running averages in a state of which each device has a copy: some updated alike on all devices, some apart."""

from __future__ import annotations

from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import KEPT_ALIKE, KEPT_APART, NONE, OWN_AVERAGE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Site, Value
from meshlens.axes.domain.variation import DIFFERS, MEAN, SHIFTED, SUM, VARYING, Along, is_given, is_same
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

COMBINED = "average-combined"
"""The kind of the record of a place where the running averages of all devices are put together."""
OVER_DEVICES = frozenset({"mean", "sum", "average", "median", "nanmean"})
"""Functions that may combine what the devices hold, by the last part of their names."""
_NO_STATISTICS = frozenset({"of-gradient", "opaque", "index"})


def kept(left: Value, right: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of a running average of which each device holds a copy, after an update.

    The forms are `decay * x + (1 - decay) * new` and `x + weight * (new - x)`, in which `new` is a mean or sum over the
    rows of one device, or such a value reduced over all devices. A mere sum, such as that of a count and the rows of
    one device, may be meant for each device.
    """
    for copy, update in ((left, right), (right, left)):
        copies, added = labels_of(copy), labels_of(update)
        held = of_kinds(copies, "copied")
        if not held or "met" in copies or not (copies | added).isdisjoint(_NO_STATISTICS):
            continue
        is_scaled = "entered" not in copies
        holds_copy = not set(held).isdisjoint(of_kinds(added, "copied"))
        is_array = bool(shape_of(copy) or shape_of(update))
        before, reduced = variation_of(copy), {axis: place for _, axis, place in of_kinds(added, "reduced-at")}
        found: set[Any] = set()
        for axis, along in variation_of(update).axes:
            if not is_given(before.over(axis).truth):
                continue
            is_of_sum = along.truth == DIFFERS and holds_copy and bool(of_kinds(added, "own-sum", "counted"))
            if (_is_own(along, is_scaled) or is_of_sum) and (is_scaled or holds_copy):
                found |= {(KEPT_APART, site, axis, ctx.route[-1].site, is_array), (OWN_AVERAGE, site, axis)}
            elif axis in reduced and is_same(along.truth) and (is_scaled or (holds_copy and along.typed == VARYING)):
                found.add((KEPT_ALIKE, reduced[axis], axis, site))
        if found:
            return frozenset(found)
    return NONE


def note_combined(run: Run, value: Value, site: Site, ctx: Context) -> None:
    """Notes a collective for a running average that is kept apart, or for what is computed from it.

    A gradient, or a mean or sum over rows, such as a loss, may depend on the average without being one.
    """
    labels = labels_of(value)
    for kind, place, axis, *_ in of_kinds(labels, OWN_AVERAGE, KEPT_APART):
        is_of_rows = variation_of(value).over(axis).truth in (SUM, MEAN) or shape_of(value) == ()
        if kind == KEPT_APART or not (is_of_rows or "of-gradient" in labels):
            run.records.gradient_uses.append(GradientUse(COMBINED, site, place, ctx, axis))


def note_combined_outside(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Notes a sum or mean, outside all maps, over what the devices hold."""
    if name.rpartition(".")[2] in OVER_DEVICES and len(args) > 1 and args[1].value == Const(0):
        for _, place, axis in of_kinds(labels_of(args[0].value), OWN_AVERAGE):
            run.records.gradient_uses.append(GradientUse(COMBINED, site, place, ctx, axis))


def _is_own(along: Along, is_scaled: bool) -> bool:
    """Returns whether an update has a mean or sum over the rows of one device, less a copy that is not scaled."""
    return along.truth in ((SUM, MEAN) if is_scaled else (SHIFTED, MEAN))
