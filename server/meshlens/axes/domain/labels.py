"""The labels of data, and how they propagate through a program.

A label is a string, or a tuple that begins with one. *Traveling* labels survive any computation; the others end at the
first operation on the value.

    varying                differs between the devices of the innermost map
    reduced                result of a reduction over the devices
    index                  depends on which device or process this is
    gradient               a gradient that has not been reduced
    of-gradient            computed from a gradient, reduced or not
    untouched              a gradient as `grad` returned it, or changed by code that certainly reduces nothing
    judged                 the result of a test of what depends on unreduced gradients, such as whether it is finite
    judged-own             the result of a test of such a gradient itself
    ("wrt", argument)      with `gradient`: the argument with respect to which it is taken
    ("argument", map, n)   depends on argument n of the mapped function
    ("summed", call)       sum of gradients over the devices, not yet divided
    ("psum", call)         passed through this `psum`
    ("stepped", place, argument)   parameters updated with an unreduced gradient
    ("of-psum", call)      gradient of a sum over the devices
    auto-summed            a gradient summed automatically by a checked `shard_map`
    mean                   result of a mean, such as a loss
    entered                an argument of the innermost map, as each device gets it
    scaled                 divided by a computed number, such as a token count
    data                   depends on data that certainly differs between the devices
    met                    a part of the value was reduced
    opaque                 passed through unseen code that may reduce, or between devices
    with-halo              computed from the edge of an adjacent device's part, which a `ppermute` sent
    ("counted", call)      computed from a sum over the device's rows
    ("own-sum", call)      computed from a sum that each device has taken over its own data, perhaps not over its rows
    ("divided-by", origin, place)   exactly a quotient, taken there, by the number that is written at this origin
    ("loss-divided", origin, place)   computed from the gradient of such a loss
    ("sum-here", call)     exactly a sum that a device took
    ("quotient-here", axis)   exactly a quotient of two such sums, of which the lower one differs along this axis
    ("mask", place)        weights that are 0 for the rows that fill up a batch, and 1 for others
    ("masked", place)      exactly a product with such weights
    ("of-filled", place)   computed from an array that was filled up
    ("of-mask", place)     computed from such weights
    ("one-each", place)    exactly ones, as many as there are such weights
    ("line", name, factor, start)   exactly the number of this variable times the factor, plus the start
    ("own-product", axis)  exactly a product with the device's part of a matrix whose rows are split over this axis
    ("own-mean", axis)     a gradient divided by a count of the device's own rows, which are split over this axis
    ("rows-here", axis, place)   the number of rows of one device, which are split over this axis
    ("copies", place, n)   an array repeated along its first n axes
    ("copied", place)      one of these copies
    device-copies          copies for the devices along the first axis
    ("handed", place)      a key derived from the key that is passed to a model there
    ("drifted", place, axis)   a value that is the same over an axis, updated with one that differs
    ("parted", place, axis)    likewise, but each device has its own parameters, which may be copies
    ("strayed", place, axis)   exactly a copy of a running average, updated with a value that differs along this axis
    ("kept-apart", place, axis, call, is_array)   exactly a copy of a running average, updated there with the device's
                           own rows; whether it is more than a number
    ("kept-alike", call, axis, place)   likewise, but updated with what was reduced over this axis
    ("own-average", place, axis)   computed from a copy that is kept apart
    ("reduced-at", axis, call)   computed from the result of a `psum` or `pmean` over this axis
    axis-size              computed from the number of devices along an axis
    ("pieces", n, width, place)   columns of n arrays that were concatenated, as wide as all of them together
    ("size-of", axis)      computed from the number of devices along this axis
    ("mesh-axis", axis)    the same for the size of an axis that a mesh gives, perhaps not the mesh of the map
    some-count             exactly the number of devices along an axis, if that number is unknown
    ("own-index", axis)    exactly the index of the device along this axis
    ("scaled-index", axis, n, place)   exactly the index of the device along this axis times n, which is written there;
                           no place if n is the size of an axis
    ("less-index", axis, n, call)   exactly positions less the index of the device along this axis times n, taken there
    ("index-by-size", axis)   exactly the index of the device along this axis times the size of this axis
    ("last-index", axis)   exactly the number of devices along this axis minus 1, if that number is unknown
    ("over", axis, call)   exactly the result of a reduction over this axis
    ("drawn", call, key)   random numbers that are the same on every device
    ("folded", call, axis) computed from a key into which a number that differs along this axis was folded
    ("all-keys", place)    computed from one of the keys that this spec gives to every device, one for each of them
    ("of-process", call)   computed in a map from the index of the process, which has several devices
    ("own-key", axis)      computed from a key of which each device along this axis has another one
    ("sent", axis)         exactly what a device received for its own value from the partner to which it sent that
    ("received", axis)     computed from what a device received in a `ppermute` over this axis
    ("gap", axis)          computed from a difference of two entries, both picked with the device's own index
    ("scaled-here", axis)  computed from a received value, multiplied by a value that the device has for itself
    ("weighed", axis)      computed from a received value, weighed with values of both devices
    ("decided", call, key, axis)   computed from a comparison of such a value with the device's own random number
    ("agreed", axis)       computed from such a decision of another device
    ("drawn-along", call, key, axis)   random numbers that are the same along this axis, but not along another
    ("drawn-apart", call, key, axis)   computed from random numbers that differ along this axis
    ("noised", call, key, axis)   rows that all devices along this axis held, combined with such numbers
    ("alike", call, key)   computed from random numbers that are the same on every device, even if reduced since
    ("host-sum", call)     sum over the devices of a value that they all hold
    ("gathered", argument, axis, call)   computed from an argument whose parts an `all_gather` concatenated
    ("typed", mesh, entries)   split in this way over explicit axes, which is part of the array's type
    ("all-rows", axis, call)   computed from rows of all devices, which an `all_gather` concatenated
    ("slice", axis, call)  a device's part of a gradient that was summed over this axis, or computed from it
    ("clipped-apart", places)   exactly a device's own gradient, scaled at the first of these places by a number that is
                           computed from it; the others are the calls that lead there; each with the function it is in
    ("slice-verdict", axis, place, call)   computed from whether all or any of such a part passes a test
    ("slice-norm", call)   computed from the norm of such a part
    ("state-sum", axis)    computed from the sum of a device's part of an array whose parts exchange halos
    ("state-norm", axis, call)   computed from the norm of a device's part of a state whose parts exchange halos
    ("state-share", axis, place)   computed from such a sum, divided there by a total over the devices
    ("scaled-by-own", call)      computed from such a part, divided by this norm
    ("split-along", axis, n)   dimension n, counted from the front, is split over this axis
    ("own-coordinates", axis, …)   coordinates along such a dimension that are the same on every device
    ("injected", axis)     computed from a choice, by the device's index, between what all devices have and other values
    ("held", place)        exactly an array into which each device wrote its own value at this place
    ("stacked", place, axis)   exactly an array in which values were stacked there that each device also sent on
    own-place              an array's `at`, at a place that depends on the device
    ("set-by-part", axis, place)   computed from an array and such coordinates
    ("turned-by-part", axis, place)   computed from an array multiplied by phases that are linear in such coordinates
    ("turned-sum", axis, place)   computed from a sum of such an array
    ("size-of-part", axis, place)   the size of such a dimension on one device, read at this place
    complex                computed from a written imaginary number
    imaginary              has such a number as a factor
    from-zero              exactly the numbers 0, 1, 2, …, as from `arange`
    ("counted-at", call)   such numbers, made there
    integers               certainly integers, such as the places of rows
    ("position-in-part", axis, n, k)   a position along an axis that is split over the devices, counted in the device's
                           part; n is the size of a part, and k how many positions `top_k` took, if they are known
    ("own-order", axis)    exactly the order of a device's own rows, as `argsort` returns it
    ("own-rank", axis, call)   exactly their ranks, the order of the order
    ("ranked-here", axis, call)   computed from such ranks
    ("gathered-position", axis, call)   such positions, gathered from all devices
    reduced-behind         has its own derivative rule, which reduces over the devices
    version                tells which JAX version this is, or which features it has
    same                   certainly the same on every device of the innermost map
    uniform                an array that may hold the same value along every axis
    written                an array of which entries were set, one after the other
    sharded                rows split over the devices along a leading axis
    normed                 output of a normalization layer that uses only the device's rows for its statistics
    own-statistics         the running statistics of such layers
    ("apart", call)        result of a map in which each device has its own mean, sum or count
    of-jax                 certainly JAX arrays, not NumPy arrays
    unplaced               computed only from numbers and keys, and not placed on a mesh
    on-one-device          committed to a single device
    on-a-mesh              committed to the devices of a mesh
    key, keys              one PRNG key; an array of them
    fresh                  state just made by an `init`, one copy
    ("state-of", shapes)   exactly the state of an optimizer, with arrays of the shapes that the parameters have
    traced                 exactly a traced argument, or certainly an array computed from one
    devices                an array or list of devices
    device                 one device
    in-order               in the order of `jax.devices()`
    ("parameters", model, arguments, path)   the part at a path of the parameters that a model creates if it is
                           initialized with these arguments
    ("with-shared", axis)  a sum that a device took over its own data, plus an argument that all devices have
    replicated-result      result of a map that holds the same reduced value on every device
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

_TRAVELLING = frozenset(
    {
        "varying",
        "index",
        "gradient",
        "auto-summed",
        "mean",
        "data",
        "met",
        "opaque",
        "with-halo",
        "version",
        "scaled",
        "reduced-behind",
        "axis-size",
        "of-gradient",
        "untouched",
        "judged",
        "judged-own",
        "normed",
        "own-statistics",
        "complex",
    }
)
_TRAVELLING_KINDS = frozenset(
    (
        "wrt argument summed psum stepped of-psum drawn host-sum reduced-at drifted parted copied counted alike "
        "own-sum gathered all-rows slice slice-norm size-of drawn-along drawn-apart noised pieces slice-verdict folded "
        "all-keys of-process own-key received gap scaled-here weighed decided agreed set-by-part turned-by-part "
        "turned-sum injected own-average state-sum state-norm state-share scaled-by-own mesh-axis loss-divided "
        "of-filled of-mask ranked-here own-moments"
    ).split()
)
_CLEARED_BY_REDUCTION = frozenset(
    {
        "varying",
        "gradient",
        "untouched",
        "index",
        "mean",
        "scaled",
        "data",
        "opaque",
        "with-halo",
        "judged",
        "judged-own",
        "normed",
        "own-statistics",
    }
)
_KINDS_CLEARED_BY_REDUCTION = frozenset(
    (
        "wrt stepped of-psum drawn reduced-at drifted parted counted own-sum slice slice-norm drawn-along drawn-apart "
        "noised slice-verdict decided set-by-part turned-by-part "
        "turned-sum injected own-average state-sum state-norm state-share scaled-by-own ranked-here"
    ).split()
)

_OF_GRADIENTS = frozenset({"gradient", "of-gradient", "untouched", "auto-summed", "mean"})
_KINDS_OF_GRADIENTS = frozenset({"wrt", "stepped", "summed", "of-psum"})
_OF_ARRAYS = frozenset({"gradient", "untouched", "auto-summed"})
_KINDS_OF_ARRAYS = frozenset({"wrt", "stepped"})

FROM_ZERO = "from-zero"
"""The label of the numbers 0, 1, 2, …"""

COUNTED_AT = "counted-at"
"""The kind of the label that says where such numbers were made."""

IMAGINARY = "imaginary"
"""The label of products with a written imaginary number, such as `2j * pi * x`, whose exponentials are rotations."""

INTEGERS = "integers"
"""The label of arrays of integers, which pick rows when they index an array; other arrays may be masks."""

ONES = "ones"
"""The label of an array of ones."""

FILLED_ONES = "filled-ones"
"""The kind of the label of an array of ones that was filled up with ones."""

AXIS_SIZE = frozenset({"axis-size"})
"""The label of what is computed from a number of devices; labels "size-of" name the axes, if they are known."""

MESH_AXIS = "mesh-axis"
"""The kind of the label of the size of a mesh's axis, which need not be the mesh of the map that uses it."""

COUNT = "count"
"""The kind of the label of a number that is exactly the size of an axis, or the number of processes, if it is known."""

TYPED = "typed"
"""The kind of the label that says how an array over explicit axes is split."""

PARAMETERS = "parameters"
"""The kind of the label of a model's parameters, or of a part of them."""

DIVIDED_BY, LOSS_DIVIDED = "divided-by", "loss-divided"
"""The kinds of labels of exactly a quotient by a number, with the place of the number and that of the quotient, and of
what is computed from the gradient of such a loss."""

SUM_HERE, QUOTIENT_HERE = "sum-here", "quotient-here"
"""The kinds of labels of exactly a sum that a device took, and of a quotient of two such sums, with an axis."""

PASSED_ON = frozenset({"opaque", "with-halo"})
"""The labels of a value that may be computed from what other devices sent."""

UNPLACED = frozenset({"unplaced"})
ON_ONE_DEVICE, ON_A_MESH = "on-one-device", "on-a-mesh"
ON_COPIES = "on-copies"
"""The label of an array of which several devices of a mesh certainly hold the same part."""
PLACES = UNPLACED | {ON_ONE_DEVICE, ON_A_MESH, ON_COPIES}
"""Labels that say where an array is."""

ON_DEVICES = "device-copies"
"""The label of copies for the devices along the first axis."""

WEIGHS_CORNERS, CORNER_WEIGHT = "weighs-corners", "corner-weight"
"""The labels of a 3×3 array whose corners are not zero, and of one of these corners."""

BORDER, DIAGONAL = "zero-border", "diagonal"
"""The kinds of labels of an array padded with zeros on all sides, and of the neighbors of its cells at an angle."""

STATE_OF = "state-of"
"""The kind of the label of an optimizer's state."""

UPDATES_APART, UPDATES_MET, OWN_MOMENTS = "updates-apart", "updates-met", "own-moments"
"""The kinds of labels of exactly what an optimizer made from each device's own gradients, of this after a reduction,
and of what is computed from its state."""

_OF_STENCILS = frozenset({WEIGHS_CORNERS, CORNER_WEIGHT})

TRACED = "traced"
"""The label of what is certainly a tracer, or a tree of tracers."""

OF_ONE_COPY = (
    frozenset({"fresh", "key", "same", "reduced", "entered", "of-jax", "untouched", ON_DEVICES, INTEGERS, ONES, TRACED})
    | PLACES
    | _OF_STENCILS
)
"""Labels that a joined value keeps only if it has them on every path."""

HELD = "held"
"""The kind of the label of an array into which each device wrote its own value."""

STACKED = "stacked"
"""The kind of the label of an array in which values were stacked that each device also sent on."""

SPLIT_ALONG, COORDINATES, PART_SIZE = "split-along", "own-coordinates", "size-of-part"
"""The kinds of labels of a split dimension, of coordinates counted in a part, and of the size of a part."""

RANKED = "ranked-here"
"""The kind of label of what is computed from the ranks of a device's own rows."""

SCALED_INDEX, LESS_INDEX = "scaled-index", "less-index"
"""The kinds of labels of a device's index, multiplied by a number, and of positions less such an offset."""

KEPT_APART, KEPT_ALIKE, OWN_AVERAGE = "kept-apart", "kept-alike", "own-average"
"""The kinds of labels of copies of a running average, and of what is computed from one that is kept apart."""

WRITTEN = "written"
"""The label of an array after some of its entries were set, so that its rows differ even if it was uniform before."""

LINE = "line"
"""The kind of the label of a number that is computed from a variable in a straight line, such as `4 * i + 1`."""

OWN_PRODUCT = "own-product"
"""The kind of the label of a product that sums over the device's part of a dimension only."""

_OF_AXES = frozenset({PARAMETERS, SPLIT_ALONG, COORDINATES})
_EXACT = frozenset(
    {
        "over",
        "copies",
        "own-index",
        "last-index",
        "index-by-size",
        SCALED_INDEX,
        LESS_INDEX,
        TYPED,
        PART_SIZE,
        HELD,
        STACKED,
        FILLED_ONES,
        BORDER,
        DIAGONAL,
        KEPT_APART,
        KEPT_ALIKE,
        STATE_OF,
        UPDATES_APART,
        UPDATES_MET,
        OWN_PRODUCT,
        LINE,
        DIVIDED_BY,
        SUM_HERE,
        QUOTIENT_HERE,
        "clipped-apart",
        *_OF_AXES,
    }
)
"""Kinds of labels that say exactly what a value is, so a joined value keeps only those that it has on every path."""

NONE: frozenset[Any] = frozenset()

_MOST_LABELS = 64
"""Maximum number of labels; a value with more is treated as if it came from unseen code."""


def joined(left: frozenset[Any], right: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of a value that may be either of two values."""
    if left == right:
        return left
    either = left ^ right
    exact = {label for label in either if isinstance(label, tuple) and label[0] in _EXACT}
    return (left | right) - (either & OF_ONE_COPY) - exact


def travelling(labels: Collection[Any]) -> frozenset[Any]:
    """Returns the labels that a computation passes from a value to its result."""
    if not labels:
        return NONE
    if not isinstance(labels, frozenset):
        return _travelling(frozenset(labels))
    return labels if labels <= _TRAVELLING else _travelling(labels)


def forget_sets() -> None:
    """Forgets the results for sets of labels; a label may hold a model, and with it the variables of a whole module."""
    _travelling.cache_clear()
    _of_kinds.cache_clear()


@lru_cache(maxsize=2_000)
def _travelling(labels: frozenset[Any]) -> frozenset[Any]:
    if len(labels) > _MOST_LABELS:
        # Otherwise each reduction in a long chain would carry the labels of all before it.
        return (labels & _TRAVELLING) | {"opaque"}
    return frozenset(
        [
            label
            for label in labels
            if (label in _TRAVELLING if isinstance(label, str) else label[0] in _TRAVELLING_KINDS)
        ]
    )


def of_verdict(labels: Collection[Any]) -> frozenset[Any]:
    """Returns the labels of a test's outcome, such as whether a gradient is finite; it is neither gradient nor rank."""
    rest = _without(travelling(labels), _OF_GRADIENTS, _KINDS_OF_GRADIENTS | {RANKED})
    if "varying" not in rest or "of-gradient" not in labels:
        return rest
    return rest | ({"judged", "judged-own"} if "gradient" in labels else {"judged"})


def of_number(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of a number computed from whole arrays, such as a norm, which is not itself a gradient."""
    return _without(labels, _OF_ARRAYS, _KINDS_OF_ARRAYS)


def after_reduction(labels: Collection[Any]) -> frozenset[Any]:
    """Returns the labels of a value after a reduction over the devices."""
    return _without(travelling(labels), _CLEARED_BY_REDUCTION, _KINDS_CLEARED_BY_REDUCTION) | {"reduced", "met"}


def _without(labels: frozenset[Any], names: frozenset[str], kinds: frozenset[str]) -> frozenset[Any]:
    return frozenset(
        label for label in labels if (label not in names if isinstance(label, str) else label[0] not in kinds)
    )


def without_dimensions(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of arrays that get or lose an axis, except those that say something about their axes."""
    return frozenset([label for label in labels if not isinstance(label, tuple) or label[0] not in _OF_AXES])


def of_kinds(labels: Collection[Any], *kinds: str) -> tuple[tuple[Any, ...], ...]:
    """Returns the labels of the given kinds, in an order that is the same in each process."""
    return _of_kinds(frozenset(labels), kinds) if labels else ()


@lru_cache(maxsize=4_000)
def _of_kinds(labels: frozenset[Any], kinds: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    # There are few different sets of labels, and each is needed many times.
    return tuple(sorted([label for label in labels if isinstance(label, tuple) and label[0] in kinds], key=repr))
