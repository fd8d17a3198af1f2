"""The variation of a value: whether it is the same on all devices of an axis, different, or part of a sum.

A `Variation` describes a value over every axis in scope. For each axis it has two parts that need not agree:

*truth*, how the values of the arrays on the devices compare:

    same                  equal on all devices; more precisely:
      given                 computed from nothing that was reduced over the axis; in particular:
        zero                  zeros
      total                 a `psum` of parts of a sum
      average               a `pmean` of means of rows
      means-summed          a `psum` of means: too large by a factor of the number of devices
      sums-averaged         a `pmean` of parts of a sum: too small by the same factor
      ratios-averaged       a `pmean` of quotients whose counts may differ between the devices
    apart                 the device's own, either its rows or a copy; may differ
      differs               not equal on all devices, because their data are not; more precisely:
        rows                  each device has its rows of an array that is split along its first dimension
        columns               each device has its columns of an array that is split along its last dimension
        row                   one row of such an array, as a `vmap` sees it
        shifted               a sum over the rows of the device, perhaps plus a value that all devices have
          sum                 a sum over the rows of the device
        mean                  a mean over the rows of the device
        ratio                 a quotient of two sums over the rows of the device, such as a masked mean
        share                 a sum over the rows of the device, divided by a total of all devices
        curved                a nonlinear function of such a mean, sum or quotient
        number                the index of the device
        choice                a test of that index
        piece                 a value on the devices that pass such a test; zeros on the others
        pairs                 computed from all pairs of the device's rows
        pairs-mean            a mean over all these pairs
    ""                    unknown

*typed*, the type that JAX infers if it checks (`jax.typeof(x).vma`): `invariant`, `varying`, or "" if unknown.
A gathered value is the same in truth, but `varying` to JAX.

Variations are ordered from general to specific: each line is below the line that it is indented under, and "" is above
all. A variation is below another one if both of its parts are, over every axis. `joined` returns the least upper bound
of two variations, for a value that may be either.

Tests check these laws:
- `joined` is associative, commutative and idempotent.
- Transfer is monotone: knowing more about the arguments never means knowing less about the result.
- The unknown never causes a finding or a rewrite: rules and refactorings act on what is below `same` or `differs`,
  `invariant` or `varying`, and never on "".

A variation has an entry for each axis that it names, and one for all others: either unknown, or the same on all
devices, as for a constant or a value from outside all maps.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import NamedTuple

UNTOLD = ""
SAME = "same"
GIVEN = "given"
ZERO = "zero"
APART = "apart"
DIFFERS = "differs"
ROWS = "rows"
COLUMNS = "columns"
ROW = "row"
SUM = "sum"
MEAN = "mean"
RATIO = "ratio"
SHARE = "share"
SHIFTED = "shifted"
NUMBER = "number"
CHOICE = "choice"
PIECE = "piece"
CURVED = "curved"
PAIRS = "pairs"
PAIRS_MEAN = "pairs-mean"
TOTAL = "total"
AVERAGE = "average"
MEANS_SUMMED = "means-summed"
SUMS_AVERAGED = "sums-averaged"
RATIOS_AVERAGED = "ratios-averaged"

INVARIANT = "invariant"
VARYING = "varying"

ABOVE = {
    SAME: UNTOLD,
    GIVEN: SAME,
    ZERO: GIVEN,
    APART: UNTOLD,
    DIFFERS: APART,
    **dict.fromkeys((TOTAL, AVERAGE, MEANS_SUMMED, SUMS_AVERAGED, RATIOS_AVERAGED), SAME),
    **dict.fromkeys((ROWS, COLUMNS, ROW, SHIFTED, MEAN, RATIO, SHARE, NUMBER, PAIRS, PAIRS_MEAN), DIFFERS),
    **dict.fromkeys((CHOICE, PIECE, CURVED), DIFFERS),
    SUM: SHIFTED,
    INVARIANT: UNTOLD,
    VARYING: UNTOLD,
}
"""For each truth and type, the next more general one."""

SOME_AXIS = "?"
"""A map axis whose name is unknown."""

_MOST_AXES = 16


class Along(NamedTuple):
    """The facts about a value over one axis: `truth` and `typed`."""

    truth: str = UNTOLD
    typed: str = UNTOLD


NOT_KNOWN = Along()
ALIKE = Along(GIVEN, INVARIANT)


class Variation(NamedTuple):
    """The facts about a value over individual axes, ordered by name, and over the `rest`."""

    axes: tuple[tuple[str, Along], ...] = ()
    rest: Along = NOT_KNOWN

    def over(self, axis: str) -> Along:
        """Returns what is known about the value over one axis."""
        for name, along in self.axes:
            if name == axis:
                return along
        return self.rest


ANYTHING = Variation()
"""The variation of a value about which nothing is known."""

EVERYWHERE = Variation((), ALIKE)
"""The variation of a constant: the same on all devices, over every axis."""

ZEROS = Variation((), Along(ZERO, INVARIANT))
"""The variation of zeros."""


def is_below(one: str, other: str) -> bool:
    """Returns whether a truth or type is at least as specific as another."""
    while one != other:
        if one == UNTOLD:
            return False
        one = ABOVE[one]
    return True


def either(one: str, other: str) -> str:
    """Returns the least truth or type above both."""
    while not is_below(one, other):
        other = ABOVE[other]
    return other


def joined_along(one: Along, other: Along) -> Along:
    """Returns the least upper bound of what is known about two values over one axis."""
    return Along(either(one.truth, other.truth), either(one.typed, other.typed))


def joined(left: Variation, right: Variation) -> Variation:
    """Returns the variation of a value that may be either of two values."""
    return left if left == right else _joined(left, right)


@lru_cache(maxsize=4_000)
def _joined(left: Variation, right: Variation) -> Variation:
    axes = {name for name, _ in (*left.axes, *right.axes)}
    along = [(axis, joined_along(left.over(axis), right.over(axis))) for axis in axes]
    return of(along, joined_along(left.rest, right.rest))


def of_tree(leaves: Iterable[Variation]) -> Variation:
    """Returns the variation of a tree of arrays, which differs if any leaf does and is varying if any leaf is."""
    found = tuple(dict.fromkeys(leaves))
    if not found:
        return EVERYWHERE
    whole = reduce(joined, found)
    axes = {name for one in found for name, _ in one.axes}
    return of([(axis, _of_leaves([one.over(axis) for one in found], whole.over(axis))) for axis in axes], whole.rest)


def _of_leaves(leaves: list[Along], whole: Along) -> Along:
    differ = any(is_different(one.truth) for one in leaves) and not is_different(whole.truth)
    is_varying = any(one.typed == VARYING for one in leaves)
    return Along(DIFFERS if differ else whole.truth, VARYING if is_varying else whole.typed)


def of(axes: Iterable[tuple[str, Along]], rest: Along = NOT_KNOWN) -> Variation:
    """Returns a variation with these axes, and one value for the rest."""
    said = tuple(sorted([(name, along) for name, along in axes if along != rest]))
    return Variation(said, rest) if len(said) <= _MOST_AXES else ANYTHING


def with_axes(variation: Variation, axes: Iterable[str], along: Along) -> Variation:
    """Returns a variation with some axes replaced."""
    changed = frozenset(axes)
    kept = [(name, known) for name, known in variation.axes if name not in changed]
    return of([*kept, *((name, along) for name in changed)], variation.rest)


def without_axes(variation: Variation, axes: Iterable[str]) -> Variation:
    """Returns a variation as seen outside a map that binds these axes."""
    gone = frozenset(axes)
    return of([(name, known) for name, known in variation.axes if name not in gone], variation.rest)


def is_same(truth: str) -> bool:
    """Returns whether a value is certainly the same on all devices."""
    return is_below(truth, SAME)


def is_of_own_data(truth: str) -> bool:
    """Returns whether a value is certainly computed from data that differ between the devices, not from an index."""
    return is_different(truth) and truth not in (NUMBER, CHOICE)


def is_given(truth: str) -> bool:
    """Returns whether a value is the same on all devices and computed from nothing reduced over the axis."""
    return is_below(truth, GIVEN)


def is_different(truth: str) -> bool:
    """Returns whether a value certainly differs between devices."""
    return is_below(truth, DIFFERS)


def is_apart(truth: str) -> bool:
    """Returns whether a value is the device's own: it differs, or nothing shows that it does not."""
    return is_below(truth, APART)
