"""Labels for gradients and sums over devices in arithmetic: parameter updates and divisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.operating import of_all
from meshlens.axes.domain.axis_sizes import counts_along, size_along, size_along_all
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import DIVIDED_BY, LOSS_DIVIDED, NONE, PASSED_ON, QUOTIENT_HERE, SUM_HERE, of_kinds
from meshlens.axes.domain.values import STATIC, Arg, Const, Data, Dict, Ext, Made, Part, Seq, Site, Value
from meshlens.axes.domain.variation import (
    ANYTHING,
    APART,
    AVERAGE,
    MEANS_SUMMED,
    ROWS,
    SUM,
    SUMS_AVERAGED,
    TOTAL,
    VARYING,
    Variation,
    is_apart,
    is_different,
    is_same,
)
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import BinaryOperation, Constant
from meshlens.jaxapi.known_names import LIBRARIES_WITHOUT_REDUCTIONS

_ROWS_HERE = "rows-here"


def may_reduce(callee: Value) -> bool:
    """Returns whether an unseen callee may reduce gradients itself; optimizers of known libraries do not."""
    if isinstance(callee, (Ext, Made)):
        return callee.dotted.split(".")[0] not in LIBRARIES_WITHOUT_REDUCTIONS
    return isinstance(callee, Data) and not callee.labels


def without_gradient(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels without those that mark a gradient as unreduced."""
    kept = (label for label in labels if not (isinstance(label, tuple) and label[0] == "wrt"))
    return frozenset(kept) - {"gradient", "untouched", "auto-summed"}


def gradient_step(
    run: Run, labels: frozenset[Any], parts: tuple[tuple[Any, Any], ...], frame: Frame, ctx: Context
) -> frozenset[Any]:
    """Returns the labels to add if an argument is combined with the unreduced gradient taken with respect to it."""
    if "gradient" not in labels:
        return frozenset()
    for label in of_kinds(labels, "wrt"):
        if label[1] not in labels:
            continue
        for part_labels, node in parts:
            if "gradient" in part_labels and label[1] not in part_labels:
                site = node if isinstance(node, Site) else site_of(frame, node)
                run.records.gradient_uses.append(GradientUse("stepped", site, None, ctx))
                return frozenset({("stepped", site, label[1])})
    return frozenset()


def note_updated(run: Run, args: Iterable[Arg], ctx: Context) -> None:
    """Notes unreduced gradients with which an optimizer updates the parameters of a model in place."""
    for arg in args:
        if arg.site is not None and "gradient" in labels_of(arg.value):
            run.records.gradient_uses.append(GradientUse("updated", arg.site, None, ctx))


def note_step(run: Run, args: tuple[Arg, ...], call: Invocation) -> None:
    """Notes the axes over which the gradients of a parameter update were reduced, and those over which they were not.

    Args:
        run: the run.
        args: the arguments, including the gradients or an optimizer's updates computed from them.
        call: the update.
    """
    ctx = call.ctx
    note_unreduced_step(run, args, call)
    for arg in args if _is_step(ctx) else ():
        labels, over = labels_of(arg.value), variation_of(arg.value)
        places = {axis: place for _, axis, place in of_kinds(labels, "reduced-at")}
        if "of-gradient" not in labels or not labels.isdisjoint(PASSED_ON) or not places:
            continue
        first = min(places.values())
        for axis in ctx.env.names:
            if axis in places:
                run.records.gradient_uses.append(GradientUse("step-reduced", call.site, places[axis], ctx, axis))
            elif not is_same(over.over(axis).truth):
                run.records.gradient_uses.append(GradientUse("step-apart", call.site, first, ctx, axis))


def note_unreduced_step(run: Run, args: tuple[Arg, ...], call: Invocation) -> None:
    """Notes an update with gradients that were never reduced; the optimizer may be unknown."""
    for arg in args if _is_step(call.ctx) else ():
        labels = labels_of(arg.value)
        if "untouched" in labels and arg.site is not None and not of_kinds(labels, "reduced-at"):
            run.records.gradient_uses.append(GradientUse("step-alone", arg.site, None, call.ctx))


def stepped_alike(result: Value, parts: Iterable[Value]) -> Value:
    """Returns the result of an unseen update, which is the same on all devices if the state and the gradients are.

    Random numbers with which the state was trained are not random numbers of what is computed with it later.
    """
    over = of_all(parts)
    is_alike = bool(over.axes) and all(is_same(along.truth) for _, along in over.axes)
    if not is_alike or type(result) is not Data or result.over != ANYTHING:
        return result
    return replace(result, labels=result.labels.difference(of_kinds(result.labels, "alike")), over=over)


def _is_step(ctx: Context) -> bool:
    """Returns whether an update is a training step, not an inner step that an outer gradient differentiates."""
    return bool(ctx.env.maps) and not any(step.how == "grad" for step in ctx.route)


def drift(parts: Iterable[Value]) -> frozenset[Any]:
    """Returns the labels to add if a value that is the same over an axis is combined with a gradient that is not.

    Only gradients reduced over another axis count; one that was never reduced may be intended to differ.
    """
    values = [value for value in parts if isinstance(value, (Data, Dict, Seq, Made))]
    gradients = [value for value in values if "of-gradient" in labels_of(value)]
    if not gradients or len(gradients) == len(values):
        return frozenset()
    found: set[Any] = set()
    for gradient in gradients:
        over = variation_of(gradient)
        labels = of_kinds(labels_of(gradient), "reduced-at")
        places, reduced = [place for _, _, place in labels], {axis for _, axis, _ in labels}
        # A value that was reduced over an axis and differs again has since been combined with another value.
        differing = [axis for axis, along in over.axes if is_different(along.truth) and axis not in reduced]
        for other in values:
            if other not in gradients and places:
                place, same = min(places), variation_of(other)
                found.update(("drifted", place, axis) for axis in differing if is_same(same.over(axis).truth))
                found.update(("parted", place, axis) for axis in _parted(over, same) if axis not in reduced)
    return frozenset(found)


STRAYED = "strayed"
"""The kind of the label of a copy of a running average that was updated with a value that differs between devices."""


_NO_STATISTICS = frozenset({"of-gradient", "opaque"})


def strayed(left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of a copy of a running average whose update is reduced over other axes, but not over this one.

    The forms are `x + weight * (new - x)` and `decay * x + (1 - decay) * new`. A mere sum, such as that of a count and
    the rows of one device, may be meant for each device.
    """
    found: set[Any] = set()
    for copy, update in ((left, right), (right, left)):
        copies, added = labels_of(copy), labels_of(update)
        if "met" not in added or "met" in copies or not copies.isdisjoint(_NO_STATISTICS):
            continue
        reduced = {axis: place for _, axis, place in of_kinds(added, "reduced-at")}
        if not reduced or not added.isdisjoint(_NO_STATISTICS) or not _is_average(copy, update, reduced):
            continue
        before = variation_of(copy)
        found.update(
            (STRAYED, min(reduced.values()), axis)
            for axis, along in variation_of(update).axes
            if is_different(along.truth) and axis not in reduced and is_same(before.over(axis).truth)
        )
    return frozenset(found)


def _is_average(copy: Value, update: Value, reduced: Iterable[str]) -> bool:
    """Returns whether the sum of a copy and its update, which is reduced over some axes, may be a running average."""
    held, over = of_kinds(labels_of(copy), "copied"), variation_of(update)
    # Any copy that the update contains besides what was reduced makes its type varying.
    contains_copy = any(over.over(axis).typed == VARYING for axis in reduced)
    if "entered" in labels_of(copy):
        return contains_copy and not set(held).isdisjoint(of_kinds(labels_of(update), "copied"))
    # A sum of numbers may be a loss with a penalty.
    return bool(held) and not contains_copy and bool(shape_of(copy))


def _parted(gradient: Variation, parameters: Variation) -> list[str]:
    """Returns the axes over which each device has its own gradient and parameters (perhaps copies of one array)."""
    return [
        axis
        for axis, along in gradient.axes
        if along.truth == APART and along.typed == VARYING and _may_be_copies(parameters.over(axis).truth)
    ]


def _may_be_copies(truth: str) -> bool:
    return truth == APART or is_same(truth)


class Operation(NamedTuple):
    """A binary operation: `left operator right`.

    Attributes:
        operator: its spelling.
        left: the left operand.
        right: the right operand.
        sides: the expressions of both operands.
        site: the site of the operation.
    """

    operator: str
    left: Value
    right: Value
    sides: tuple[Any, Any]
    site: Site


def divided(run: Run, operation: Operation, ctx: Context) -> frozenset[Any]:
    """Returns the labels that a `/`, `//` or `*` removes: those of a sum that is divided by the number of devices."""
    operator, left, right, sides, site = operation
    sums = {
        label
        for label in labels_of(left) | labels_of(right)
        if isinstance(label, tuple) and label[0] in ("summed", "psum", "host-sum")
    }
    if operator == "*" and not sums:
        factors = [one.value for one in (left, right) if isinstance(one, Const)]
        return frozenset({"mean"} if any(_is_share(run, factor, site) for factor in factors) else set())
    if operator == "*":
        on_left = any(label in labels_of(left) for label in sums)
        factor, node = (right, sides[1]) if on_left else (left, sides[0])
        quotient = isinstance(node, BinaryOperation) and node.operator == "/"
        if isinstance(factor, Const) and not quotient and not _is_share(run, factor.value, site):
            return frozenset()
        if isinstance(factor, Data) and any(
            isinstance(label, tuple) and label[0] == "argument" for label in factor.labels
        ):
            return frozenset()
        sums = {label for label in sums if label[0] != "psum"}
    elif isinstance(sides[1], Constant) and sides[1].value not in _sizes(ctx):
        return frozenset()
    is_of_means = any(along.truth == MEANS_SUMMED for _, along in variation_of(left).axes)
    for label in sorted(sums, key=repr):
        if label[0] != "psum" or is_of_means:
            run.records.gradient_uses.append(GradientUse("divided", site, label[1], ctx))
    return frozenset(sums | ({"mean"} if operator == "/" else set()))


def _note_count_of_all(run: Run, total: Value, count: Const, site: Site, ctx: Context) -> None:
    """Notes a sum of gradients over some axes of a map that is divided by the number of all its devices."""
    labels = labels_of(total)
    # Without checks, a `psum` in the loss multiplies the gradient by the size of its axis, which may be divided out.
    if (
        not ctx.env.maps
        or not ctx.env.maps[-1].checked
        or "of-gradient" not in labels
        or not of_kinds(labels, "summed")
    ):
        return
    reduced = {axis: place for _, axis, place in of_kinds(labels, "reduced-at", "slice")}
    size, every = size_along_all(ctx.env, tuple(reduced)), size_along_all(ctx.env, ctx.env.names)
    if size is not None and size != count.value == every:
        run.records.gradient_uses.append(GradientUse("divided-by-all", site, min(reduced.values()), ctx, min(reduced)))


OWN_MEAN = "own-mean"
"""The kind of the label of a gradient that is divided by a count of the device's own rows."""


def note_quotient(run: Run, left: Value, right: Value, site: Site, ctx: Context) -> None:
    """Notes a total divided by one device's value or by a sum over too few axes, or an average divided again."""
    above, below = variation_of(left), variation_of(right)
    if isinstance(right, Const) and right.counts:
        _note_count_of_all(run, left, right, site, ctx)
    for axis, along in above.axes:
        here = _sized_at(right, axis) if along.truth == TOTAL else None
        if here is not None:
            run.records.gradient_uses.append(GradientUse("of-size-here", site, here, ctx, axis))
        elif along.truth == TOTAL and below.over(axis).truth == SUM:
            run.records.gradient_uses.append(GradientUse("of-one-device", site, _counted_at(right), ctx, axis))
        elif along.truth == SUMS_AVERAGED and below.over(axis).truth == TOTAL:
            run.records.gradient_uses.append(GradientUse("share-averaged", site, _reduced_at(left, axis), ctx, axis))
        elif along.truth in (SUMS_AVERAGED, AVERAGE) and counts_along(right, axis, ctx.env):
            run.records.gradient_uses.append(GradientUse("divided-twice", site, _reduced_at(left, axis), ctx, axis))
        elif (place := _summed_over_fewer(left, right, axis)) is not None:
            run.records.gradient_uses.append(GradientUse("of-fewer-axes", site, place, ctx, axis))


def own_mean(left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of `left / right` if a gradient is divided by a count of the device's own rows."""
    above, below = labels_of(left), labels_of(right)
    if "gradient" not in above or "of-gradient" in below or not of_kinds(below, "counted", "own-sum"):
        return NONE
    return frozenset([(OWN_MEAN, axis) for axis, along in variation_of(right).axes if is_apart(along.truth)])


def by_number(run: Run, left: Value, number: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the label of a quotient by a whole number; notes a gradient whose loss was divided by it already.

    Args:
        run: the run.
        left: the dividend.
        number: the divisor.
        site: the quotient.
        ctx: the context.
    """
    if not isinstance(number, Const) or type(number.value) is not int or number.value < 2 or number.origin is None:
        return NONE
    for _, origin, place in of_kinds(labels_of(left), LOSS_DIVIDED):
        if origin == number.origin and "gradient" in labels_of(left):
            run.records.gradient_uses.append(GradientUse("divided-again", site, place, ctx))
    return NONE | {(DIVIDED_BY, number.origin, site)} if shape_of(left) in (None, ()) else NONE


def quotient_here(left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of `left / right` if both are sums that each device takes over data of its own."""
    if not of_kinds(labels_of(left), SUM_HERE) or not of_kinds(labels_of(right), SUM_HERE):
        return NONE
    above, below = variation_of(left), variation_of(right)
    return frozenset(
        [
            (QUOTIENT_HERE, axis)
            for axis, along in below.axes
            if along.typed == VARYING == above.over(axis).typed and is_apart(along.truth)
        ]
    )


def _summed_over_fewer(left: Value, right: Value, axis: str) -> Site | None:
    """Returns where the divisor of a total was summed, if the divisor varies over an axis not included in that sum."""
    above, below = _sums(left), _sums(right)
    over = variation_of(right).over(axis)
    if axis not in above or axis in below or over.typed != VARYING or not is_apart(over.truth):
        return None
    return next((below[other] for other in sorted(below) if above.get(other) == above[axis]), None)


def _sums(value: Value) -> dict[str, Site]:
    """Returns the axes over which a value was summed, each with the site of the sum."""
    labels = labels_of(value)
    return {axis: site for _, axis, site in of_kinds(labels, "reduced-at") if ("psum", site) in labels}


def rows_here(array: Value, site: Site) -> Data | None:
    """Returns the number of rows on one device, labeled with the place that reads it; None if no rows are split."""
    split = [axis for axis, along in variation_of(array).axes if along.truth == ROWS]
    return replace(STATIC, labels=frozenset([(_ROWS_HERE, axis, site) for axis in split])) if split else None


def one_less(operator: str, left: Value, right: Value) -> Part | None:
    """Returns where the number of a device's rows was read if `left operator right` is one less; None if it is not."""
    if operator != "-" or right != Const(1) or not isinstance(left, Const) or left.part is None or not left.part.axes:
        return None
    return left.part._replace(is_less=True)


def rows_less_one(operator: str, left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of `left operator right` if it is the number of a device's rows minus 1."""
    return frozenset(of_kinds(labels_of(left), _ROWS_HERE)) if operator == "-" and right == Const(1) else NONE


def _sized_at(value: Value, axis: str) -> Site | None:
    """Returns where the number of a device's rows was read, if the rows are split over an axis."""
    if type(value) is Const:
        return value.part.site if value.part is not None and axis in value.part.axes else None
    sites = (label[2] for label in labels_of(value) if isinstance(label, tuple) and label[:2] == (_ROWS_HERE, axis))
    return next(sites, None)


def _counted_at(value: Value) -> Site | None:
    """Returns where this device's rows were counted."""
    sites = [label[1] for label in labels_of(value) if isinstance(label, tuple) and label[0] == "counted"]
    return sites[0] if len(sites) == 1 else None


def _reduced_at(value: Value, axis: str) -> Site | None:
    """Returns where a value was reduced over an axis."""
    sites = [label[-1] for label in labels_of(value) if isinstance(label, tuple) and label[:2] == ("reduced-at", axis)]
    return sites[0] if len(sites) == 1 else None


def _sizes(ctx: Context) -> set[int]:
    """Returns the sizes of the axes that are bound here, and the product of these sizes."""
    sizes = [size for name in ctx.env.names if (size := size_along(ctx.env, name)) is not None]
    return {*sizes, prod(sizes)} if sizes else set()


def _is_share(run: Run, factor: object, site: Site) -> bool:
    target = run.world.devices_of(site.path)
    return target is not None and isinstance(factor, float) and abs(factor * target.count - 1) < 1e-6
