"""The labels that data carries through a program, and how they travel.

A label is a string, or a tuple that begins with one.  *Travelling* labels survive any computation;
the others describe one value and end at the first operation on it.

    varying                differs between the devices of the innermost map
    reduced                came out of a reduction over the devices
    index                  depends on which device or process this is
    gradient               a gradient that no reduction has met yet
    of-gradient            made of a gradient, reduced or not
    ("wrt", argument)      with `gradient`: the argument it is taken for
    ("argument", map, n)   depends on argument n of the mapped function
    ("summed", call)       sum of gradients over the devices, not divided yet
    ("psum", call)         went through this `psum`
    ("stepped", place, argument)   parameters that took a step along a gradient no reduction had met
    ("of-psum", call)      gradient of a sum over the devices
    auto-summed            a gradient that a checked `shard_map` has summed by itself
    mean                   came out of a mean (a loss, say)
    entered                an argument of the innermost map, as each device gets it
    scaled                 was divided by something worked out, such as a number of tokens
    data                   depends on data that certainly differ between the devices
    met                    some part of it went through a reduction
    opaque                 went through code that is not seen and may reduce, or was passed from device to device
    ("counted", call)      made of a sum over the rows of the device
    ("copies", place, n)   an array that holds one array again and again along its first n axes
    ("copied", place)      one of these
    ("drifted", place, axis)   made of a step along what differs over an axis, from what is the same over it
    ("reduced-at", axis, call)   made of what a `psum` or `pmean` over this axis gave
    axis-size              made of the number of devices along an axis
    ("over", axis, call)   exactly what a reduction over this axis gave
    ("drawn", call, key)   random numbers that are the same on every device
    ("alike", call, key)   made of such numbers, whatever was reduced since
    ("host-sum", call)     sum over the devices of a value that all of them hold
    reduced-behind         the derivative reduces over the devices by a rule of its own
    version                says which JAX this is, or what it has
    same                   certainly the same on every device of the innermost map
    uniform                an array that may hold the same along every axis
    sharded                rows that were split over the devices along a leading axis
    ("apart", call)        result of a map in which each device has its own mean, sum or count
    key, keys              one PRNG key; an array of them
    fresh                  state just made by an `init`, one copy
    devices                an array or list of devices
    in-order               they stand in the order of `jax.devices()`
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
        "version",
        "scaled",
        "reduced-behind",
        "axis-size",
        "of-gradient",
    }
)
_TRAVELLING_KINDS = frozenset(
    ("wrt argument summed psum stepped of-psum drawn host-sum reduced-at drifted copied counted alike").split()
)
_CLEARED_BY_REDUCTION = frozenset({"varying", "gradient", "index", "mean", "scaled", "data", "opaque"})
_KINDS_CLEARED_BY_REDUCTION = frozenset({"wrt", "stepped", "of-psum", "drawn", "reduced-at", "drifted", "counted"})

_OF_GRADIENTS = frozenset({"gradient", "of-gradient", "auto-summed", "mean"})
_KINDS_OF_GRADIENTS = frozenset({"wrt", "stepped", "summed", "of-psum"})

OF_ONE_COPY = frozenset({"fresh", "key", "same", "reduced", "entered"})
"""Labels that a value has only if it has them on every way that leads to it."""

NONE: frozenset[Any] = frozenset()

_MOST_LABELS = 64
"""A value with more labels than this counts as one that went through code that is not seen."""


def joined(left: frozenset[Any], right: frozenset[Any]) -> frozenset[Any]:
    """The labels of a value that may be the one or the other."""
    if left == right:
        return left
    either = left ^ right
    sums = {label for label in either if isinstance(label, tuple) and label[0] == "over"}
    return (left | right) - (either & OF_ONE_COPY) - sums


def travelling(labels: Collection[Any]) -> frozenset[Any]:
    """The labels that a computation on a value hands on to its result."""
    if not labels:
        return NONE
    if not isinstance(labels, frozenset):
        return _travelling(frozenset(labels))
    return labels if labels <= _TRAVELLING else _travelling(labels)


@lru_cache(maxsize=2_000)
def _travelling(labels: frozenset[Any]) -> frozenset[Any]:
    if len(labels) > _MOST_LABELS:
        # Each of a long chain of reductions would carry those of all before it.
        return (labels & _TRAVELLING) | {"opaque"}
    return frozenset(
        [
            label
            for label in labels
            if (label in _TRAVELLING if isinstance(label, str) else label[0] in _TRAVELLING_KINDS)
        ]
    )


def of_verdict(labels: Collection[Any]) -> frozenset[Any]:
    """The labels of what a test of a value says, such as whether a gradient is finite: no gradient any more."""
    return frozenset(
        label
        for label in travelling(labels)
        if (label not in _OF_GRADIENTS if isinstance(label, str) else label[0] not in _KINDS_OF_GRADIENTS)
    )


def after_reduction(labels: Collection[Any]) -> frozenset[Any]:
    """The labels of a value that was reduced over the devices."""
    kept = {
        label
        for label in travelling(labels)
        if (
            label not in _CLEARED_BY_REDUCTION
            if isinstance(label, str)
            else label[0] not in _KINDS_CLEARED_BY_REDUCTION
        )
    }
    return frozenset(kept | {"reduced", "met"})
