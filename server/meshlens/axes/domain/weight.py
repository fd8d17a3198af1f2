"""Limits on the size of values: each value has a weight and depth, and drops details if it is too heavy.

The weight counts a part once for each path to it: `(a, a)` weighs twice as much as `a`. The pair takes no more memory,
but code that walks, compares or hashes it visits `a` twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from meshlens.axes.domain.atoms import UNKNOWN, Arg

if TYPE_CHECKING:
    from meshlens.axes.domain.values import Value

MOST_WEIGHT = 5_000
DEEPEST_VALUE = 40
"""Maximum weight and depth of a value; a heavier or deeper one keeps only its plain parts."""

_WEIGHTLESS: set[type] = set()
"""Types seen so far whose values contain no other values; nine in ten values are of such a type."""


def weighed(values: Iterable[Value]) -> tuple[int, int]:
    """Returns the weight and depth of a value composed of others."""
    weight, depth = 1, 0
    for value in values:
        if type(value) in _WEIGHTLESS:
            weight += 1
            continue
        own: int = getattr(value, "weight", 0)
        if own:
            below: int = getattr(value, "depth", 0)
            if below > depth:
                depth = below
            weight += own
        else:
            _WEIGHTLESS.add(type(value))
            weight += 1
    return weight, depth + 1


def lightened(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Returns the parts of a value that is too heavy, or () if too many; parts that contain others become UNKNOWN."""
    if len(values) >= MOST_WEIGHT:
        return ()
    return tuple([value if getattr(value, "weight", 0) == 0 else UNKNOWN for value in values])


def lightened_arguments(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Returns the arguments of a value that is too heavy; a splat of unknown values if there are too many."""
    values = lightened(tuple([arg.value for arg in args]))
    if not values and args:
        return (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
    return tuple([Arg(arg.label, value, arg.whole, arg.site) for arg, value in zip(args, values, strict=True)])
