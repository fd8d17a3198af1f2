"""How large a value may be: each knows its weight and depth from when it is made, and says less if it is too heavy.

The weight counts every part as often as it can be reached: `(a, a)` weighs twice what `a` weighs, though it takes no
more memory, because whatever walks, compares or hashes it goes through `a` twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from meshlens.axes.domain.atoms import UNKNOWN, Arg

if TYPE_CHECKING:
    from meshlens.axes.domain.values import Value

MOST_WEIGHT = 5_000
DEEPEST_VALUE = 40
"""A value with more weight or depth keeps its plain parts only; the others are unknown."""

_WEIGHTLESS: set[type] = set()
"""Types whose values hold no others, as they were met: nine in ten values are of these."""


def weighed(values: Iterable[Value]) -> tuple[int, int]:
    """The weight and depth of a value that is made of others."""
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
    """The parts of a value that is too heavy: those that hold no others stay; none where there are too many."""
    if len(values) >= MOST_WEIGHT:
        return ()
    return tuple([value if getattr(value, "weight", 0) == 0 else UNKNOWN for value in values])


def lightened_arguments(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The arguments of a value that is too heavy; a splat of unknown values where there are too many."""
    values = lightened(tuple([arg.value for arg in args]))
    if not values and args:
        return (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
    return tuple([Arg(arg.label, value, arg.whole, arg.site) for arg, value in zip(args, values, strict=True)])
