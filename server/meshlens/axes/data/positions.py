"""Positions in one device's part of an array, which are meaningless in the whole array without the part's offset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.data.arrays import count_of, shape_of
from meshlens.axes.data.parts import OWN_INDEX
from meshlens.axes.domain.axis_sizes import SOME_COUNT, size_along
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import COUNT, COUNTED_AT, FROM_ZERO, LESS_INDEX, NONE, RANKED, SCALED_INDEX, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import APART, CHOICE, COLUMNS, DIFFERS, NUMBER, ROWS, VARYING
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_IN_PART, _GATHERED = "position-in-part", "gathered-position"
_ORDER, _RANK = "own-order", "own-rank"
"""The kinds of labels of the order of a device's own rows, of their ranks, and of what is computed from these."""
RANKS_REDUCED = "ranks-reduced"
"""The kind of the record of a sum or mean over the devices of what is computed from such ranks."""
_BY_SIZE = "index-by-size"
"""The kind of the label of exactly a device's index along an axis, multiplied by the size of this axis."""
_LAST = "last-index"
"""The kind of the label of the number of devices along an axis minus 1, if that number is unknown."""
ALL_ROWS = "all-rows"
_OF_OWN_ROWS = frozenset({ROWS, APART, COLUMNS})
_TAKE_CLASSES = frozenset({"optax.softmax_cross_entropy_with_integer_labels", "jax.numpy.take_along_axis"})
TOP_K, _SORTS = "jax.lax.top_k", "jax.numpy.argsort"
_POSITIONS = frozenset(
    {"jax.numpy.argmax", "jax.numpy.argmin", "jax.numpy.argsort", "jax.lax.argmax", "jax.lax.argmin"}
)


def with_positions(name: str, args: tuple[Arg, ...], found: Data, site: Site) -> Value:
    """Returns a function's result, labeled if it is 0, 1, 2, … or contains positions along an axis split over devices.

    Args:
        name: the function.
        args: its arguments.
        found: its result without the labels.
        site: the call.
    """
    if name == "jax.numpy.arange" and len(args) == 1:
        return replace(found, labels=found.labels | {FROM_ZERO, (COUNTED_AT, site)})
    found = _ordered(args[0].value, found, site) if args and name == _SORTS else found
    if not args or not (name == TOP_K or (name in _POSITIONS and _is_last(args))):
        return found
    split = [axis for axis, along in variation_of(args[0].value).axes if along.truth == COLUMNS]
    shape = shape_of(args[0].value)
    size, taken = (shape[-1] if shape else None), (count_of(args[1].value) if name == TOP_K and len(args) > 1 else None)
    places = replace(found, labels=found.labels | {(_IN_PART, axis, size, taken) for axis in split})
    return Seq("tuple", (found, places)) if name == TOP_K else places


def _ordered(array: Value, found: Data, site: Site) -> Data:
    """Returns the result of an `argsort`, labeled if it is the order of a device's own rows, or their ranks."""
    orders = of_kinds(labels_of(array), _ORDER)
    labels: set[tuple[Any, ...]] = {(_RANK, axis, site) for _, axis in orders}
    if not orders and len(shape_of(array) or ()) == 1:
        labels = {(_ORDER, axis) for axis, along in variation_of(array).axes if along.truth in (ROWS, DIFFERS)}
    return replace(found, labels=found.labels | labels) if labels else found


def of_ranks(left: Value, right: Value) -> frozenset[object]:
    """Returns the labels of what is computed from the ranks of a device's own rows."""
    ranks = (*of_kinds(labels_of(left), _RANK), *of_kinds(labels_of(right), _RANK))
    return frozenset([(RANKED, axis, site) for _, axis, site in ranks])


def note_ranked(run: Run, labels: frozenset[Any], names: tuple[str, ...], ctx: Context) -> None:
    """Notes that what is computed from the ranks of a device's own rows is summed or averaged over the devices."""
    for _, axis, site in of_kinds(labels, RANKED):
        if axis in names:
            run.records.gradient_uses.append(GradientUse(RANKS_REDUCED, site, None, ctx, axis))


def note_classes(run: Run, name: str, args: tuple[Arg, ...], ctx: Context) -> None:
    """Notes class labels 0, 1, 2, … for a device's own rows, although the columns represent the rows of all devices."""
    if name not in _TAKE_CLASSES or len(args) < 2:
        return
    scores, classes = args[0].value, args[1].value
    if FROM_ZERO not in labels_of(classes):
        return
    for _, axis, _ in of_kinds(labels_of(scores), ALL_ROWS):
        if variation_of(scores).over(axis).truth in _OF_OWN_ROWS and args[1].site is not None:
            place = _made_at(labels_of(classes), ctx) or args[1].site
            run.records.gradient_uses.append(GradientUse("own-rows-of-all", place, None, ctx, axis))


def _made_at(labels: frozenset[object], ctx: Context) -> Site | None:
    """Returns where the numbers 0, 1, 2, … were made, if a function on the route did that."""
    around = [(step.function.path, step.function.block) for step in ctx.route if step.function is not None]
    found = [site for _, site in of_kinds(labels, COUNTED_AT) if (site.path, site.block) in around]
    return found[0] if len(found) == 1 else None


def _is_last(args: tuple[Arg, ...]) -> bool:
    axis = next((arg.value for arg in args[1:] if arg.label in (None, "axis")), None)
    return isinstance(axis, Const) and axis.value == -1


def gathered_positions(value: Value, names: tuple[str, ...], site: Site) -> frozenset[object]:
    """Returns the labels of positions that an `all_gather` over the given axes collects from all devices."""
    return frozenset([(_GATHERED, axis, site) for _, axis, *_ in of_kinds(labels_of(value), _IN_PART) if axis in names])


def note_picked(run: Run, array: Value, index: Value, ctx: Context) -> frozenset[object]:
    """Notes that an index array selects some of the gathered positions; returns the labels of the selection."""
    parts = index.items if isinstance(index, Seq) else (index,)
    found = of_kinds(labels_of(array), _GATHERED) if any(isinstance(part, Data) for part in parts) else []
    for _, axis, site in found:
        run.records.gradient_uses.append(GradientUse("positions-picked", site, None, ctx, axis))
    size = shape[0] if (shape := shape_of(array)) else None
    for _, axis, factor, site in (label for part in parts for label in of_kinds(labels_of(part), LESS_INDEX)):
        if size is not None and factor != size and variation_of(array).over(axis).truth == ROWS:
            run.records.gradient_uses.append(GradientUse("offset-of-part", site, None, ctx, axis))
    return frozenset(found)


def note_traced(run: Run, test: Value, site: Site, ctx: Context) -> None:
    """Notes a Python condition that depends on the device's index, which tracing rejects, unless code catches that."""
    if not ctx.env.maps or not isinstance(test, Data) or run.api_guard:
        return
    for axis, along in test.over.axes:
        if along.truth in (NUMBER, CHOICE) and along.typed == VARYING and axis in ctx.env.names:
            run.records.gradient_uses.append(GradientUse("index-tested", site, None, ctx, axis))


def note_shifted(run: Run, left: Value, right: Value, site: Site, ctx: Context) -> None:
    """Notes that a value, perhaps the offset of each part, is added to positions that were gathered or selected.

    Also notes that a part's offset is computed from a number that is not the size of a part.
    """
    for value, other in ((left, right), (right, left)):
        for _, axis, gathering in of_kinds(labels_of(value), _GATHERED):
            run.records.gradient_uses.append(GradientUse("positions-shifted", gathering, None, ctx, axis))
        for _, axis, size, taken in of_kinds(labels_of(value), _IN_PART):
            for _, own, factor, _ in of_kinds(labels_of(other), SCALED_INDEX):
                is_size = factor == size if size is not None else factor != taken
                if own == axis and not is_size:
                    run.records.gradient_uses.append(GradientUse("offset-of-part", site, None, ctx, axis))
        if FROM_ZERO in labels_of(value) and (shape := shape_of(value)) and shape[0] is not None:
            for _, axis in of_kinds(labels_of(other), _BY_SIZE):
                # Exactly one number per device is fine: it may count the blocks of an `all_to_all`.
                if (size := _devices_along(run, axis, site, ctx)) is not None and shape[0] > size:
                    run.records.gradient_uses.append(GradientUse("offset-by-size", site, None, ctx, axis))


def less_index(right: Value, site: Site) -> frozenset[object]:
    """Returns the labels of positions less an offset, which is a device's index times a number."""
    return frozenset(
        [(LESS_INDEX, axis, factor, site) for _, axis, factor, _ in of_kinds(labels_of(right), SCALED_INDEX)]
    )


def index_by_size(left: Value, right: Value) -> frozenset[object]:
    """Returns the label of a product of a device's index along an axis and the size of this axis."""
    for index, factor in ((left, right), (right, left)):
        axes = [axis for _, axis in of_kinds(labels_of(index), OWN_INDEX)]
        labels = labels_of(factor)
        is_size = SOME_COUNT in labels or bool(of_kinds(labels, COUNT))
        if len(axes) == 1 and is_size and ("size-of", axes[0]) in labels:
            return frozenset([(_BY_SIZE, axes[0])])
    return NONE


def _devices_along(run: Run, axis: str, site: Site, ctx: Context) -> int | None:
    """Returns the size of an axis; for a `pmap` that does not give it, the number of devices that the file targets."""
    size, binder = size_along(ctx.env, axis), ctx.env.binder_of(axis)
    if size is not None or binder is None or binder.kind != "pmap":
        return size
    target = run.world.devices_of(site.path)
    return target.count if target is not None else None


_SEEN_FROM_RIGHT = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def last_index(left: Value, right: Value) -> frozenset[object]:
    """Returns the label of `left - right` if it is the number of devices along an axis minus 1."""
    labels = labels_of(left)
    if SOME_COUNT not in labels or right != Const(1):
        return NONE
    return frozenset([(_LAST, label[1]) for label in of_kinds(labels, "size-of", "over")])


def note_compared_index(run: Run, operator: str, items: list[Value], site: Site, ctx: Context) -> None:
    """Notes a comparison with the device's index, and whether its outcome is the same on all devices.

    The index runs from 0 to the number of devices minus 1, so `axis_index(a) == axis_size(a)` is true on none. A
    number that merely equals the number of devices may be that of the devices in use; `index >= number` is then a test
    for the others.
    """
    if operator not in _SEEN_FROM_RIGHT:
        return
    left, right = items
    for index, other, way in ((left, right, operator), (right, left, _SEEN_FROM_RIGHT[operator])):
        axes = of_kinds(labels_of(index), OWN_INDEX)
        if len(axes) == 1:
            is_met = _is_met(way, other, axes[0][1], ctx)
            kind = "index-met" if is_met else "index-always" if operator == "!=" else "index-never"
            run.records.gradient_uses.append(GradientUse(kind, site, None, ctx, axes[0][1]))


def _is_met(way: str, other: Value, axis: str, ctx: Context) -> bool:
    """Returns whether comparing a device's index with a value may have different outcomes on different devices."""
    labels, number, count = labels_of(other), count_of(other), size_along(ctx.env, axis)
    is_size = (SOME_COUNT in labels or bool(of_kinds(labels, COUNT))) and _counts(labels, axis)
    if way in ("==", "!="):
        return not is_size and (number is None or (number >= 0 and number != count))
    if way in ("<", "<="):
        return number is None or number > (0 if way == "<" else -1)
    is_last = (_LAST, axis) in labels or (number is not None and number > 0 and number + 1 == count)
    return not is_size and not (way == ">" and is_last)


def _counts(labels: frozenset[object], axis: str) -> bool:
    return any(name == axis for _, name, *_ in of_kinds(labels, "size-of", "over"))
