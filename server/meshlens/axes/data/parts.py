"""Values that each device computes from its part of an array and whose sum over the devices is meaningless.

The labels of these values survive only operations that preserve their meaning, because any other operation may make
the sum meaningful.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.contractions import einsum_terms
from meshlens.axes.data.mixing import of_reshape
from meshlens.axes.domain.joining import labels_of, leaves, variation_of
from meshlens.axes.domain.labels import LESS_INDEX, NONE, OWN_PRODUCT, SPLIT_ALONG, SUM_HERE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import (
    APART,
    COLUMNS,
    DIFFERS,
    MEAN,
    ROW,
    ROWS,
    SUM,
    ZERO,
    is_different,
    is_given,
    is_same,
)
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_MAXIMUM, _BELOW, _EXPONENTIAL, _PICKED, _CENTRED = "own-max", "below-own-max", "own-exp", "picked", "centred"
_PICKED_ELSEWHERE = "picked-elsewhere"
CENTRED_BY_ALL, _SQUARED, _SPREAD = "centred-by-all", "squared", "own-spread"
"""The kinds of labels of rows minus a value reduced over the devices, of the squares of these, and of a variance."""
_OWN_SQUARED, OWN_VARIANCE, AVERAGED_VARIANCE = "own-squared", "own-variance", "averaged-variance"
"""The kinds of labels of squared deviations from a device's mean, of their mean, and of its mean over the devices."""
MEAN_OF_ALL = "mean-of-all"
"""The kind of the label of the mean over all devices, in another map than the one that computed it."""
_MOMENT, _NORMALIZED, _SOFTENED = "moment-of-part", "normalized-here", "softened-here"
"""The kinds of labels of a mean or variance along an inner dimension that is split over devices, of what is divided by
one, and of a softmax along such a dimension."""
_BELOW_SHARED, _EXP_OF_PART, _PART_OF_SUM, _LOGARITHM = "below-shared", "exp-of-part", "part-of-sum", "log-of-part"
"""The kinds of labels of rows or columns minus a value reduced over the devices that have the others, of their
exponentials, of the sum of these, and of what is computed from the logarithm of such a sum."""
_MAXIMUM_WITHIN, SHARED_MAXIMUM = "max-within", "shared-max"
"""The kinds of labels of a maximum along a dimension, and of the maximum over the devices of such maxima."""
_MEAN_OF_SUMS, _SOFTENED_BY_MEAN = "mean-of-sums", "softened-by-mean"
"""The kinds of labels of the mean over the devices of the sums of their exponentials, and of what is divided by it."""
_ADDED_TO_COPY, _WITH_SHARED = "added-to-copy", "with-shared"
LOGARITHMS_REDUCED = "logarithms-reduced"
"""The kind of the record of a sum or mean over the devices of logarithms of sums over their parts."""
OWN_INDEX = "own-index"
"""The kind of the label of `axis_index` itself, before any arithmetic."""

_SUMMED = {
    _EXPONENTIAL: "own-maxima-summed",
    _PICKED: "picked-summed",
    _PICKED_ELSEWHERE: "picked-elsewhere-summed",
    _CENTRED: "centred-summed",
    _NORMALIZED: "normalized-summed",
    _SOFTENED: "softened-summed",
    _SOFTENED_BY_MEAN: "softened-by-mean-summed",
}
"""The kind of record for a sum over the devices, by the label of the summed value."""

_ARRANGED = frozenset(
    {
        *(_MAXIMUM, _EXPONENTIAL, _PICKED, _PICKED_ELSEWHERE, _CENTRED),
        *(CENTRED_BY_ALL, _SQUARED, _SPREAD, _OWN_SQUARED, OWN_VARIANCE, AVERAGED_VARIANCE, _WITH_SHARED),
        *(LESS_INDEX, _MOMENT, _NORMALIZED, _SOFTENED, _BELOW_SHARED, _EXP_OF_PART, _PART_OF_SUM, _LOGARITHM),
        *(_MAXIMUM_WITHIN, SHARED_MAXIMUM, _MEAN_OF_SUMS, _SOFTENED_BY_MEAN),
    }
)
_BOUNDED = frozenset({SUM_HERE})
"""The kinds of labels that a value keeps if a small number is added, or if it is bounded from below."""
_VARIANCES = frozenset({_SPREAD, OWN_VARIANCE, AVERAGED_VARIANCE, _MOMENT})
_ADDED_UP = frozenset({_EXPONENTIAL, _PICKED, _PICKED_ELSEWHERE, _CENTRED})
# A mask that zeroes the entries of other devices does not help if the index counts along another axis.
_MULTIPLIED = frozenset({_EXPONENTIAL, _PICKED_ELSEWHERE, _CENTRED, _NORMALIZED, _SOFTENED, _SOFTENED_BY_MEAN})
_KEEP: dict[str, frozenset[str]] = {
    **dict.fromkeys("astype expand_dims squeeze reshape ravel stop_gradient".split(), _ARRANGED),
    **dict.fromkeys("swapaxes transpose moveaxis".split(), _ARRANGED),
    **dict.fromkeys(("sum", "segment_sum"), _ADDED_UP | {_LOGARITHM, _SOFTENED, _SOFTENED_BY_MEAN}),
    **dict.fromkeys("mean average take_along_axis negative -".split(), frozenset({_LOGARITHM})),
    "take": frozenset({_MAXIMUM, _LOGARITHM}),
    **dict.fromkeys("dot matmul einsum dot_general tensordot".split(), _MULTIPLIED),
    "where": _MULTIPLIED | {_EXP_OF_PART, _LOGARITHM, LESS_INDEX},
    **dict.fromkeys("square abs multiply power".split(), frozenset({_CENTRED, _LOGARITHM})),
    "@": _MULTIPLIED,
    # The weights of a softmax may be scaled so that those of all devices add up to 1.
    "*": frozenset({_CENTRED, _PICKED_ELSEWHERE, _NORMALIZED, _LOGARITHM}),
    "**": _VARIANCES | {_CENTRED, _LOGARITHM},
    **dict.fromkeys(("sqrt", "rsqrt", "reciprocal"), _VARIANCES),
    "clip": _VARIANCES | _BOUNDED | {LESS_INDEX},
    "maximum": _VARIANCES | _BOUNDED | {_PART_OF_SUM, LESS_INDEX},
    "minimum": frozenset({LESS_INDEX}),
    "+": _VARIANCES | {_NORMALIZED, _PART_OF_SUM, _LOGARITHM},
}
"""For functions, methods and operators, the kinds of labels that their results keep."""

_MAXIMA = frozenset({"max", "amax", "segment_max"})
_LOOK_UP = frozenset({"take", "take_along_axis"})
_SLICE = "jax.lax.dynamic_slice_in_dim"
_PRODUCTS = frozenset({"dot", "matmul"})
_SPREADS = frozenset({"std", "var"})
_AVERAGES = _SPREADS | {"mean"}
_SOFT = {
    "log_softmax": (("x", "axis"), Const(-1)),
    "logsumexp": (("a", "axis"), Const(None)),
    "softmax_cross_entropy": (("logits", "labels", "axis"), Const(-1)),
    "softmax_cross_entropy_with_integer_labels": (("logits", "labels", "axis"), Const(-1)),
}
"""Functions that take the logarithm of a sum of exponentials: the parameters up to `axis`, and its default."""
_CONCERNED = frozenset(
    {*_KEEP, *_MAXIMA, *_LOOK_UP, *_SPREADS, *_SOFT, "exp", "log", "mean", "softmax", "dynamic_slice_in_dim"}
)
_OF_PARTS = frozenset({ROWS, COLUMNS})
_WHOLE_ROWS = frozenset({ROWS, ROW, COLUMNS})


def of_part(run: Run, name: str, args: tuple[Arg, ...], found: Data, site: Site, ctx: Context) -> Data:
    """Returns the result of a function or method inside a map, with labels if it depends only on a device's part.

    Args:
        run: the run.
        name: the name of the JAX function or of the method.
        args: its arguments; for a method, the object comes first.
        found: the result without the labels.
        site: the call.
        ctx: the context.
    """
    short = name.rpartition(".")[2]
    if short not in _CONCERNED:
        return found
    if name == _SLICE:
        _note_slice(run, args, site, ctx)
    labels = set(kept(short, [labels_of(arg.value) for arg in args]))
    own = labels_of(args[0].value) if args else NONE
    if short in _MAXIMA:
        labels.update((_MAXIMUM, axis) for axis, along in found.over.axes if _is_of_part(along.truth))
        labels.add((_MAXIMUM_WITHIN,))
    elif short == "exp" and args:
        labels.update((_EXPONENTIAL, axis, site) for _, axis in of_kinds(own, _BELOW))
        labels.update((_EXP_OF_PART, axis) for _, axis in of_kinds(own, _BELOW_SHARED))
    elif short == "log":
        labels.update((_LOGARITHM, axis, site) for _, axis in of_kinds(own, _PART_OF_SUM))
    elif short == "square" or (short == "abs" and of_kinds(own, _SQUARED)):
        labels.update((_SQUARED, axis) for _, axis in of_kinds(own, CENTRED_BY_ALL, _SQUARED))
        labels.update((_OWN_SQUARED, axis) for _, axis, *_ in of_kinds(own, _CENTRED, _OWN_SQUARED))
    elif short == "reshape" and args:
        labels.update(of_reshape(run, args[0].value, found.shape, site, ctx))
    elif short in ("mean", "sum"):
        squared = [label for label in of_kinds(own, _SQUARED, _OWN_SQUARED) if _is_over_rows(args, found, label[1])]
        labels.update((_SPREAD if kind == _SQUARED else OWN_VARIANCE, axis, site) for kind, axis in squared)
        of_columns = {axis for _, axis in of_kinds(own, _EXP_OF_PART) if short == "sum"}
        labels.update((_PART_OF_SUM, axis) for axis in of_columns if _sums_part(args, found, axis))
    elif short in _SPREADS and args:
        split = [axis for axis, _ in variation_of(args[0].value).axes]
        over_rows = [axis for axis in split if _is_over_rows(args, found, axis)]
        # With `mean=`, it is the mean of the squares around another mean.
        kinds = (_SPREAD,) if any(arg.label == "mean" for arg in args) else (_SPREAD, OWN_VARIANCE)
        labels.update((kind, axis, site) for axis in over_rows for kind in kinds)
    elif short == "einsum":
        labels.update(_kept_apart(args))
    elif short == "softmax":
        labels.update((_SOFTENED, axis, site) for axis in _split_within(args, ("x", "axis"), Const(-1)))
    elif short in _SOFT and args:
        labels.update((_LOGARITHM, axis, site) for axis in _split_within(args, *_SOFT[short]))
    elif short in _PRODUCTS and len(args) == 2:
        labels.update(_own_products(args[1].value))
    if short in _AVERAGES:
        labels.update((_MOMENT, axis, site) for axis in _split_within(args, ("a", "axis"), Const(None)))
    elif short in _LOOK_UP and len(args) > 1 and not any(arg.label in ("mode", "fill_value") for arg in args):
        labels.update(_lookups(args[0].value, args[1].value, site))
    return replace(found, labels=found.labels | labels) if labels else found


def of_operation(operator: str, left: Value, right: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of `left operator right` inside a map if it depends only on a device's part."""
    labels = labels_of(left), labels_of(right)
    if operator == "+":
        added = _added_to_copy(left, right) | _added_to_copy(right, left)
        return _plus(left, right) | _plus(right, left) | added | _with_shared(left, right) | _with_shared(right, left)
    if operator == "@":
        return kept(operator, labels) | _own_products(right)
    if operator in ("**", "*"):
        is_square = right == Const(2) if operator == "**" else left is right
        centred = of_kinds(labels[0], CENTRED_BY_ALL, _CENTRED) if is_square else ()
        squares = {(_SQUARED if label[0] == CENTRED_BY_ALL else _OWN_SQUARED, label[1]) for label in centred}
        scaled = _normalized(left, right) | _normalized(right, left) if operator == "*" else NONE
        return kept(operator, labels) | squares | scaled | _weighed(left, right) | _weighed(right, left)
    if operator == "/":
        divided = of_kinds(labels[0], _NORMALIZED, _LOGARITHM)
        return kept("reciprocal", labels[1:]).union(divided) | _normalized(left, right) | _softened(left, right, site)
    if operator != "-":
        return kept(operator, labels)
    below = {(_BELOW, axis) for _, axis in of_kinds(labels[1], _MAXIMUM)}
    above, mean = variation_of(left), variation_of(right)
    own = [axis for axis, along in mean.axes if along.truth == MEAN and above.over(axis).truth == ROWS]
    reduced = [label[1] for label in of_kinds(labels[1], "over", MEAN_OF_ALL)]
    by_all = [axis for axis in reduced if _differs(left, above.over(axis).truth)]
    distances = {*[(_CENTRED, axis, site) for axis in own], *[(CENTRED_BY_ALL, axis) for axis in by_all]}
    parts = {axis for axis, along in above.axes if along.truth in _OF_PARTS} | dict(_split_dimensions(left)).keys()
    met = {label[1] for label in of_kinds(labels[1], "reduced-at") if is_same(mean.over(label[1]).truth)}
    # The maximum over the devices of maxima along a dimension shows that each has a part of this dimension.
    highest = {axis for _, axis in of_kinds(labels[1], SHARED_MAXIMUM) if not is_same(above.over(axis).truth)}
    shared = {(_BELOW_SHARED, axis) for axis in (parts | highest) & met}
    return frozenset({*below, *distances, *shared, *kept(operator, labels)})


def _own_products(right: Value) -> frozenset[Any]:
    """Returns the labels of a product with a matrix if each device has only a part of the matrix's rows."""
    rank = len(right.shape) if isinstance(right, Data) and right.shape is not None else 2
    split = of_kinds(labels_of(right), SPLIT_ALONG)
    return frozenset([(OWN_PRODUCT, axis) for _, axis, place in split if place == max(rank - 2, 0)])


def _plus(own: Value, other: Value) -> frozenset[Any]:
    """Returns the labels of `own + other`: with the variance of the devices' means, a variance is that of all rows."""
    found = kept("+", (labels_of(own),))
    if isinstance(other, Const):
        found |= kept("clip", (labels_of(own),))
    if not found:
        return NONE
    over = variation_of(other)
    always = (_NORMALIZED, _PART_OF_SUM, _LOGARITHM, SUM_HERE)
    return frozenset([label for label in found if label[0] in always or is_given(over.over(label[1]).truth)])


def _normalized(array: Value, scale: Value) -> frozenset[Any]:
    """Returns the labels of an array that is scaled by a mean or variance along a dimension that is split."""
    moments = of_kinds(labels_of(scale), _MOMENT)
    return frozenset([(_NORMALIZED, axis, site) for _, axis, site in moments if axis in dict(_split_dimensions(array))])


def _softened(array: Value, total: Value, site: Site) -> frozenset[Any]:
    """Returns the label of a hand-written softmax whose divisor is not the sum of the exponentials of all devices."""
    axes = {axis for _, axis in of_kinds(labels_of(array), _EXP_OF_PART)}
    found = {(_SOFTENED, axis, site) for _, axis in of_kinds(labels_of(total), _PART_OF_SUM)}
    found |= {(_SOFTENED_BY_MEAN, axis, mean) for _, axis, mean in of_kinds(labels_of(total), _MEAN_OF_SUMS)}
    return frozenset([label for label in found if label[1] in axes])


def _weighed(weights: Value, other: Value) -> frozenset[Any]:
    """Returns the labels of a softmax that is multiplied with columns, as in a cross entropy, not with a scale."""
    over = variation_of(other)
    return frozenset([one for one in of_kinds(labels_of(weights), _SOFTENED) if over.over(one[1]).truth == COLUMNS])


def _split_dimensions(array: Value) -> list[tuple[str, int]]:
    """Returns the axes over which an array is split along a dimension other than its first, with that dimension."""
    found = [(axis, place) for _, axis, place in of_kinds(labels_of(array), SPLIT_ALONG) if place > 0]
    rank = len(array.shape) if isinstance(array, Data) and array.shape is not None else 0
    if rank > 1:
        found += [(axis, rank - 1) for axis, along in variation_of(array).axes if along.truth == COLUMNS]
    return found


def _kept_apart(args: tuple[Arg, ...]) -> frozenset[Any]:
    """Returns the labels of the dimensions of an `einsum` that are split as they are in an operand."""
    terms, output = einsum_terms(args) or ((), "")
    if "." in output:
        return NONE
    split = [(axis, term[place : place + 1]) for term, value in terms for axis, place in _split_dimensions(value)]
    return frozenset(
        [(SPLIT_ALONG, axis, output.index(letter)) for axis, letter in split if letter and letter in output]
    )


def _split_within(args: tuple[Arg, ...], parameters: tuple[str, ...], default: Value) -> list[str]:
    """Returns the axes over which the dimensions are split that a function works along."""
    split = _split_dimensions(args[0].value) if args else []
    columns = [axis for axis, own in variation_of(args[0].value).axes if own.truth == COLUMNS] if args else []
    if not split and not columns:
        return []
    given = by_parameter(parameters, args).get("axis")
    along = given.value if given is not None else default
    if along == Const(-1):
        return list(dict.fromkeys([*columns, *_last_of(args[0].value, split)]))
    if along == Const(None):
        return [axis for axis, _ in split]
    shape = shape_of(args[0].value)
    places = [one.value for one in (along.items if isinstance(along, Seq) else (along,)) if isinstance(one, Const)]
    rank = len(shape) if shape is not None else None
    known = [place for place in places if type(place) is int]
    inner = {place if place >= 0 or rank is None else place + rank for place in known}
    return [axis for axis, place in split if place in inner]


def _last_of(array: Value, split: list[tuple[str, int]]) -> list[str]:
    rank = len(shape_of(array) or ())
    return [axis for axis, place in split if place == rank - 1]


def note_returned(run: Run, returned: Value, axes: Collection[str], site: Site, ctx: Context) -> None:
    """Notes that a map returns an array that each device has normalized along its own part of a dimension.

    Args:
        run: the run.
        returned: the result of the mapped function.
        axes: the axes of the map.
        site: the call of the map.
        ctx: the context.
    """
    for part in returned.items if isinstance(returned, Seq) else (returned,):
        # A caller may combine the softmax of each part with another result.
        kinds = (_NORMALIZED, _SOFTENED) if part is returned else (_NORMALIZED,)
        for _, axis, place in of_kinds(labels_of(part), *kinds) if type(part) is Data else ():
            if axis in axes:
                run.records.gradient_uses.append(GradientUse("normalized-returned", site, place, ctx, axis))


def note_scaled(run: Run, operator: str, sides: tuple[Value, Value], site: Site, ctx: Context) -> None:
    """Notes that rows minus a mean over all devices are scaled by a value computed from the devices' own variances."""
    for rows, scale in (sides, sides[::-1]) if operator == "*" else (sides,):
        centred = {axis for _, axis in of_kinds(labels_of(rows), CENTRED_BY_ALL)}
        # The entries of an inner dimension may be in groups, each on one device.
        inner = {axis for axis, _ in _split_dimensions(rows)}
        for _, axis, place in of_kinds(labels_of(scale), _SPREAD):
            if axis in centred and _differs(scale, variation_of(scale).over(axis).truth):
                kind = "scaled-by-own-part" if axis in inner else "scaled-by-own"
                run.records.gradient_uses.append(GradientUse(kind, site, place, ctx, axis))
        for _, axis, place in of_kinds(labels_of(scale), AVERAGED_VARIANCE):
            if axis in centred:
                run.records.gradient_uses.append(GradientUse("scaled-by-averaged", site, place, ctx, axis))


def note_centred(run: Run, rows: Value, mean: Value, ctx: Context) -> None:
    """Notes that a value is subtracted from rows that was reduced over some of the axes that split them, but not all.

    Args:
        run: the run.
        rows: the rows.
        mean: what is subtracted.
        ctx: the context.
    """
    above, below = variation_of(rows), variation_of(mean)
    split = [axis for axis, along in above.axes if along.truth == ROWS]
    if len(split) < 2:
        return
    reduced = {axis: site for _, axis, site in of_kinds(labels_of(mean), "reduced-at")}
    places = [reduced[axis] for axis in split if axis in reduced and is_same(below.over(axis).truth)]
    lacking = [axis for axis in split if axis not in reduced and is_different(below.over(axis).truth)]
    if places and lacking:
        run.records.gradient_uses.append(GradientUse("reduced-over-fewer", min(places), None, ctx, lacking[0]))


def averaged(labels: frozenset[Any], names: Collection[str], site: Site) -> frozenset[Any]:
    """Returns the labels of the average of the devices' variances, or of the devices' sums of exponentials."""
    own = {(AVERAGED_VARIANCE, axis, place) for _, axis, place in of_kinds(labels, OWN_VARIANCE)}
    sums = {(_MEAN_OF_SUMS, axis, site) for _, axis in of_kinds(labels, _PART_OF_SUM)}
    return frozenset([label for label in own | sums if label[1] in names])


def highest(labels: frozenset[Any], names: Collection[str]) -> frozenset[Any]:
    """Returns the labels of the maximum over the devices of the maxima along a dimension of their parts."""
    return frozenset([(SHARED_MAXIMUM, name) for name in names if of_kinds(labels, _MAXIMUM_WITHIN)])


def of_item(array: Data, index: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of `array[index]` inside a map if it depends only on a device's part."""
    moved = of_kinds(array.labels, *([_MAXIMUM] if isinstance(index, Data) else _ARRANGED)) if array.labels else ()
    return frozenset([*moved, *_lookups(array, index, site)])


def note_logarithms(run: Run, value: Value, names: Collection[str], site: Site, ctx: Context) -> None:
    """Notes a sum or mean over the devices of the logarithms of sums that each device took over its part.

    Args:
        run: the run.
        value: the reduced value.
        names: the axes that it is reduced over.
        site: the collective.
        ctx: the context.
    """
    for one in leaves(value):
        for _, axis, place in of_kinds(labels_of(one), _LOGARITHM):
            if axis in names and "of-gradient" not in labels_of(one):
                run.records.gradient_uses.append(GradientUse(LOGARITHMS_REDUCED, site, place, ctx, axis))


def note_parts(run: Run, value: Value, names: Collection[str], site: Site, ctx: Context) -> None:
    """Notes a sum over the devices of values that depend only on each device's part.

    Args:
        run: the run.
        value: the summed value.
        names: the axes that it is summed over.
        site: the collective.
        ctx: the context.
    """
    for one in leaves(value):
        _note_part(run, one, names, site, ctx)


def _note_part(run: Run, value: Value, names: Collection[str], site: Site, ctx: Context) -> None:
    over = variation_of(value)
    for _, place in of_kinds(labels_of(value), _ADDED_TO_COPY):
        if all(is_same(over.over(name).truth) for name in names):
            run.records.gradient_uses.append(GradientUse("copies-summed", site, place, ctx))
    for _, axis in of_kinds(labels_of(value), _WITH_SHARED):
        if axis in names:
            run.records.gradient_uses.append(GradientUse("shifted-summed", site, None, ctx, axis))
    for kind, axis, place in of_kinds(labels_of(value), *_SUMMED):
        is_sum = kind != _CENTRED or over.over(axis).truth == SUM
        if axis in names and is_sum and "of-gradient" not in labels_of(value):
            run.records.gradient_uses.append(GradientUse(_SUMMED[kind], site, place, ctx, axis))


def kept(name: str, labels: Collection[frozenset[Any]]) -> frozenset[Any]:
    """Returns the labels of this module that the result of a function, method or operator keeps."""
    kinds = _KEEP.get(name)
    if kinds is None:
        return NONE
    return frozenset([label for one in labels if one for label in of_kinds(one, *kinds)])


def _added_to_copy(copy: Value, other: Value) -> frozenset[Any]:
    """Returns a label if a per-device value, such as a count, is added to a copy that all devices hold."""
    copied = of_kinds(labels_of(copy), "copied")
    is_own = isinstance(other, (Data, Const)) and not of_kinds(labels_of(other), "copied")
    return frozenset([(_ADDED_TO_COPY, copied[0][1])]) if len(copied) == 1 and is_own else NONE


def _with_shared(own: Value, shared: Value) -> frozenset[Any]:
    """Returns labels for a sum that a device took over its own data, plus an argument that all devices have."""
    products = [label[1] for label in of_kinds(labels_of(own), OWN_PRODUCT)]
    if not (products or of_kinds(labels_of(own), "own-sum")) or not isinstance(shared, Data):
        return NONE
    if "of-gradient" in labels_of(own) or not of_kinds(shared.labels, "argument"):
        return NONE
    over, all_have = variation_of(own), variation_of(shared)
    axes = products or [axis for axis, along in over.axes if along.truth == DIFFERS]
    return frozenset([(_WITH_SHARED, axis) for axis in axes if _is_shared(all_have.over(axis).truth)])


def _is_shared(truth: str) -> bool:
    return is_given(truth) and truth != ZERO


def _is_over_rows(args: tuple[Arg, ...], found: Data, axis: str) -> bool:
    """Returns whether a mean, sum or variance certainly combines a device's rows, not the entries within each row."""
    truth = found.over.over(axis).truth
    is_whole = len(args) == 1 or found.shape == () or variation_of(args[0].value).over(axis).truth == ROWS
    is_whole = is_whole or axis in _split_within(args, ("a", "axis"), Const(None))
    return is_whole and _differs(found, truth) and truth not in _WHOLE_ROWS


def _sums_part(args: tuple[Arg, ...], found: Data, axis: str) -> bool:
    """Returns whether a sum is certainly taken along a dimension that is split over the devices of an axis."""
    if any(split == axis for split, _ in _split_dimensions(args[0].value)):
        return axis in _split_within(args, ("a", "axis"), Const(None))
    return _is_of_part(found.over.over(axis).truth)


def _differs(value: Value, truth: str) -> bool:
    """Returns whether a value certainly differs between devices, as does one computed from data that does."""
    return is_different(truth) or (truth == APART and "data" in labels_of(value))


def _is_of_part(truth: str) -> bool:
    """Returns whether a maximum was taken along a dimension that is split over devices."""
    return is_different(truth) and truth not in _WHOLE_ROWS


def _lookups(array: Value, index: Value, site: Site) -> list[tuple[str, str, Site]]:
    """Returns the labels of lookups in each device's part, with its own indices or with shared ones."""
    parts = [index] if not isinstance(index, Seq) else list(index.items)
    numbers = [part for part in parts if isinstance(part, Data) and "index" in part.labels]
    split = [axis for axis, along in variation_of(array).axes if along.truth in _OF_PARTS]
    truths = {axis: [variation_of(one).over(axis).truth for one in numbers] for axis in split}
    own = [axis for axis in split if any(is_different(one) and one not in _WHOLE_ROWS for one in truths[axis])]
    elsewhere = [axis for axis in split if numbers and all(map(is_same, truths[axis]))]
    return [*((_PICKED, axis, site) for axis in own), *((_PICKED_ELSEWHERE, axis, site) for axis in elsewhere)]


def _note_slice(run: Run, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Notes that each device takes several rows of an array that all devices hold, starting at the device's index."""
    array, start, size = (args[place].value if len(args) > place else None for place in range(3))
    if array is None or start is None or size is None or size == Const(1):
        return
    for _, axis in of_kinds(labels_of(start), OWN_INDEX):
        if is_same(variation_of(array).over(axis).truth):
            run.records.gradient_uses.append(GradientUse("slices-overlap", site, args[1].site, ctx, axis))
