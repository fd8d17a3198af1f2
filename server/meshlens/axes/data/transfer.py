"""Transfer functions: each derives the variation of an operation's result from those of its arguments.

`jaxapi/operations.py` lists the kind of each JAX function. Each function here works on one axis; `across` applies it to
all axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce

from meshlens.axes.domain.variation import (
    ANYTHING,
    APART,
    AVERAGE,
    CHOICE,
    COLUMNS,
    CURVED,
    DIFFERS,
    GIVEN,
    INVARIANT,
    MEAN,
    MEANS_SUMMED,
    NOT_KNOWN,
    NUMBER,
    PAIRS,
    PAIRS_MEAN,
    PIECE,
    RATIO,
    RATIOS_AVERAGED,
    ROW,
    ROWS,
    SAME,
    SHARE,
    SHIFTED,
    SUM,
    SUMS_AVERAGED,
    TOTAL,
    UNTOLD,
    VARYING,
    ZERO,
    Along,
    Variation,
    either,
    is_apart,
    is_different,
    is_given,
    is_same,
    of,
)

_ROWWISE = frozenset({ROWS, COLUMNS, ROW, PAIRS, CHOICE})
_LINEAR = frozenset({ROWS, COLUMNS, ROW, PAIRS, SUM, SHARE, SHIFTED, MEAN, PAIRS_MEAN, PIECE, CURVED})
_REDUCED = frozenset({SUM, MEAN, RATIO, CURVED})
_OF_ROWS = frozenset({ROW, SUM, MEAN, RATIO, SHARE, SHIFTED, PAIRS_MEAN, CURVED, PIECE})
_OF_EACH_ENTRY = frozenset({SUM, MEAN, RATIO, SHARE, CURVED, SHIFTED, PAIRS_MEAN})
"""Truths that hold for each entry of an array."""
_KEPT_OF_SAME = frozenset({ZERO, TOTAL, AVERAGE, MEANS_SUMMED, SUMS_AVERAGED, RATIOS_AVERAGED})


def across(how: Callable[..., Along], *variations: Variation) -> Variation:
    """Returns the variation of an operation's result over all axes."""
    for variation in variations:
        if variation is not ANYTHING:
            return _across(how, variations)
    return ANYTHING


@lru_cache(maxsize=8_000)
def _across(how: Callable[..., Along], variations: tuple[Variation, ...]) -> Variation:
    axes = dict.fromkeys(name for variation in variations for name, _ in variation.axes)
    rest = how(*(variation.rest for variation in variations))
    return of([(axis, how(*(variation.over(axis) for variation in variations))) for axis in axes], rest)


def typed(*parts: Along) -> str:
    """Returns the type that JAX gives a result: varying if any operand varies."""
    if any(part.typed == VARYING for part in parts):
        return VARYING
    return INVARIANT if all(part.typed == INVARIANT for part in parts) else UNTOLD


def rowwise(*parts: Along) -> Along:
    """Returns the result of an elementwise function: rows stay rows."""
    return Along(_rowwise(*(part.truth for part in parts)), typed(*parts))


def _rowwise(*truths: str) -> str:
    if UNTOLD in truths:
        # The other operand, such as data from other devices, may cancel the difference.
        return UNTOLD
    if ROWS in truths:
        # Values that a device computes for each of its rows are rows too, whatever their other inputs are.
        return ROWS
    different = {truth for truth in truths if is_different(truth)}
    if not different:
        if any(map(is_apart, truths)):
            return APART
        return GIVEN if all(map(is_given, truths)) else SAME
    others = [truth for truth in truths if truth not in different]
    if len(different) == 1 and all(map(is_same, others)):
        (only,) = different
        return only if only in _ROWWISE else DIFFERS
    return DIFFERS


def curved(*parts: Along) -> Along:
    """Returns the result of a nonlinear elementwise function, whose result for a mean is not a mean."""
    return Along(_curved(*(part.truth for part in parts)), typed(*parts))


def _curved(*truths: str) -> str:
    different = [truth for truth in truths if not is_same(truth)]
    return CURVED if different and all(truth in _REDUCED for truth in different) else _rowwise(*truths)


def linear(part: Along) -> Along:
    """Returns the result of a linear function that keeps the rows in place: `-x`, `x.astype(t)`."""
    truth = part.truth
    if is_same(truth):
        return Along(truth, part.typed)
    return Along(truth if truth in _LINEAR or truth == NUMBER else _rowwise(truth), part.typed)


def added(left: Along, right: Along) -> Along:
    """Returns the result of `left + right` or `left - right`."""
    return Along(_added(left.truth, right.truth), typed(left, right))


def _added(left: str, right: str) -> str:
    if left == ZERO:
        return right
    if right == ZERO or left == right:
        return left
    if {left, right} == {SUM, SHIFTED}:
        return SHIFTED
    for one, other in ((left, right), (right, left)):
        if is_same(other):
            if one == NUMBER:
                return one
            if one in (MEAN, PAIRS_MEAN, CURVED) or (one in _KEPT_OF_SAME and is_given(other)):
                return one
            if one in (SUM, SHARE, SHIFTED):
                return DIFFERS
    return _rowwise(left, right)


def subtracted(left: Along, right: Along) -> Along:
    """Returns the result of `left - right`, which for a mean is its deviation, if what is subtracted was reduced."""
    is_deviation = left.truth in (MEAN, PAIRS_MEAN) and is_same(right.truth) and not is_given(right.truth)
    return Along(DIFFERS, typed(left, right)) if is_deviation else added(left, right)


def subtracted_arrays(left: Along, right: Along) -> Along:
    """Returns the result of `left - right` if neither is a literal number."""
    is_deviation = left.truth in (MEAN, PAIRS_MEAN) and is_same(right.truth) and not is_given(right.truth)
    return Along(DIFFERS, typed(left, right)) if is_deviation else added_arrays(left, right)


def added_arrays(left: Along, right: Along) -> Along:
    """Returns the result of `left + right` if neither is a literal number, such as an epsilon."""
    return Along(_added_arrays(left.truth, right.truth), typed(left, right))


def _added_arrays(left: str, right: str) -> str:
    for one, other in ((left, right), (right, left)):
        if one in (SUM, SHIFTED) and is_same(other) and other != ZERO:
            return SHIFTED
    return _added(left, right)


def multiplied(left: Along, right: Along) -> Along:
    """Returns the result of `left * right`."""
    return Along(_multiplied(left.truth, right.truth), typed(left, right))


def _multiplied(left: str, right: str) -> str:
    for one, other in ((left, right), (right, left)):
        if is_same(other):
            if one in _LINEAR or one == NUMBER:
                return one
            if one in _KEPT_OF_SAME and is_given(other):
                return one
    return CURVED if left in _REDUCED and right in _REDUCED else _rowwise(left, right)


def divided(left: Along, right: Along) -> Along:
    """Returns the result of `left / right`."""
    return Along(_divided(left.truth, right.truth), typed(left, right))


def _divided(left: str, right: str) -> str:
    if left == SUM and right in (SUM, TOTAL):
        return RATIO if right == SUM else SHARE
    if left == right == MEAN:
        return RATIO
    if left in (MEAN, CURVED) and right in (MEAN, CURVED):
        return CURVED
    if left in _LINEAR and is_same(right):
        # A sum divided by an unknown number may be a mean.
        return left if left not in (SUM, SHIFTED) else DIFFERS
    if left in _KEPT_OF_SAME and is_same(right):
        return left if left != TOTAL else SAME
    return _rowwise(left, right)


def with_parameters(part: Along, parameters: Along) -> Along:
    """Returns the result of a layer: if the input is the same on all devices, it varies as the parameters do."""
    if not is_same(part.truth) or is_same(parameters.truth):
        return Along(part.truth, typed(part, parameters))
    return Along(DIFFERS if is_different(parameters.truth) else UNTOLD, typed(part, parameters))


def shared_out(left: Along, right: Along) -> Along:
    """Returns the result of `left / right` if `right` is computed from the device count.

    A device's mean may become its share of the overall mean.
    """
    truth = _divided(left.truth, right.truth)
    return Along(DIFFERS if truth in (MEAN, RATIO, CURVED, PAIRS_MEAN) else truth, typed(left, right))


def scaled_down(part: Along) -> Along:
    """Returns the result of a division by a constant."""
    return linear(part)


def bounded(part: Along) -> Along:
    """Returns the result of a bound such as `maximum(x, 1)`: a count stays a count, of one device or of all."""
    return Along(part.truth if part.truth in (SUM, TOTAL) else _rowwise(part.truth), part.typed)


def product(left: Along, right: Along) -> Along:
    """Returns the result of `left @ right` for matrices."""
    return Along(_product(left.truth, right.truth), typed(left, right))


def _product(left: str, right: str) -> str:
    if left == ROWS and right == COLUMNS:
        return PAIRS
    if left == COLUMNS and right == ROWS:
        return SUM
    if (left == COLUMNS and is_same(right)) or (right == ROWS and is_same(left)):
        return DIFFERS
    if ROWS in (left, right) and not is_same(left) and not is_same(right):
        # The other matrix may hold columns, or something else by which rows are multiplied.
        return UNTOLD if UNTOLD in (left, right) else DIFFERS
    return _multiplied(left, right)


def chosen(test: Along, *parts: Along) -> Along:
    """Returns the result of `where(test, x, y)`, which picks each element from one of two arrays."""
    truths = [part.truth for part in parts]
    truth = _rowwise(test.truth, *truths)
    if test.truth == CHOICE and len(parts) == 2 and truths.count(ZERO) == 1:
        return Along(PIECE, typed(test, *parts))
    if truth == UNTOLD and is_different(test.truth) and len(parts) == 2 and truths.count(ZERO) == 1:
        # A value that is zero on only some devices is not the same on all devices.
        truth = DIFFERS
    if is_different(truth) and not is_different(test.truth) and not all(map(is_different, truths)):
        truth = truth if truth in (ROWS, ROW) else APART
    return Along(truth, typed(test, *parts))


def judged(*parts: Along) -> Along:
    """Returns the result of a comparison, a count or an argmax, which may agree on devices with different data."""
    truths = [part.truth for part in parts]
    different = [truth for truth in truths if not is_same(truth)]
    if different == [NUMBER] or (different and set(different) == {CHOICE}):
        return Along(CHOICE, typed(*parts))
    truth = _rowwise(*truths)
    return Along(truth if truth in _ROWWISE or not is_different(truth) else APART, typed(*parts))


def mixed(*parts: Along) -> Along:
    """Returns the result of an otherwise unknown function that uses its arguments and reduces over no axis."""
    truth = _rowwise(*(part.truth for part in parts))
    return Along(truth if truth == ROW or not is_different(truth) else DIFFERS, typed(*parts))


def summed(part: Along) -> Along:
    """Returns the result of a sum over the first dimension, or over all dimensions."""
    return Along(_reduced(part.truth, SUM, SUM), part.typed)


def summed_by(data: Along, segments: Along) -> Along:
    """Returns the sum of the rows in each segment, as in `segment_sum(data, segments)`."""
    truths = (data.truth, segments.truth)
    if ROWS in truths and all(truth == ROWS or is_same(truth) for truth in truths):
        return Along(SUM, typed(data, segments))
    return mixed(summed(data), segments)


def averaged(part: Along) -> Along:
    """Returns the result of a mean over the first dimension, or over all dimensions."""
    return Along(_reduced(part.truth, MEAN, PAIRS_MEAN), part.typed)


def with_rows(part: Along) -> Along:
    """Returns an array with rows in place of columns, for a function of all its elements."""
    return Along(ROWS, part.typed) if part.truth == COLUMNS else part


def summed_last(part: Along) -> Along:
    """Returns the result of a sum over the last dimension if that is the one that is split; other arrays unchanged."""
    return Along(SUM, part.typed) if part.truth == COLUMNS else part


def averaged_last(part: Along) -> Along:
    """Returns the result of a mean over the last dimension if that is the one that is split; other arrays unchanged."""
    return Along(MEAN, part.typed) if part.truth == COLUMNS else part


def _reduced(truth: str, of_rows: str, of_pairs: str) -> str:
    if truth == ROWS:
        return of_rows
    if truth == PAIRS:
        return of_pairs
    if truth in (ROW, SUM, SHARE, MEAN, PAIRS_MEAN, CURVED, PIECE) or (truth in _KEPT_OF_SAME):
        return truth
    return _rowwise(truth)


def within_rows(part: Along) -> Along:
    """Returns the result of a function that works along a dimension other than the first: rows stay rows."""
    return Along(DIFFERS if part.truth == COLUMNS else _rowwise(part.truth), part.typed)


def networked(*parts: Along) -> Along:
    """Returns the result of a network, in which unknown parameters do not cancel a difference in the inputs."""
    known = [part for part in parts if part.truth != UNTOLD]
    if len(known) == len(parts) or not any(is_different(part.truth) for part in known):
        return rowwise(*parts)
    return Along(DIFFERS, typed(*parts))


def layered(first: Along, *others: Along) -> Along:
    """Returns the result of a layer that works row by row: rows stay rows, whatever its parameters are."""
    result = networked(first, *others)
    if first.truth in (ROWS, ROW):
        return Along(first.truth, VARYING if first.typed == VARYING else result.typed)
    return Along(DIFFERS, result.typed) if is_different(result.truth) else result


def entry(part: Along) -> Along:
    """Returns the result of selecting an entry along the first dimension, as of the losses that a `scan` stacks."""
    return part if part.truth in _OF_EACH_ENTRY or is_same(part.truth) else mixed(part)


def picked(part: Along) -> Along:
    """Returns the result of selecting or summing entries along dimensions other than the first."""
    kept = part.truth in _OF_ROWS - {ROW} or is_same(part.truth)
    return part if kept else within_rows(part)


def arranged(*parts: Along) -> Along:
    """Returns the result of moving, joining or repeating elements along dimensions other than the first."""
    return Along(_arranged(picked, parts), typed(*parts))


def arranged_first(*parts: Along) -> Along:
    """Returns the result of moving, joining or repeating elements along the first dimension or all of them."""
    return Along(_arranged(mixed, parts), typed(*parts))


def _arranged(how: Callable[..., Along], parts: tuple[Along, ...]) -> str:
    truths = {part.truth for part in parts} - {ZERO}
    both = reduce(either, truths) if truths else ZERO
    if both != ROW and (both in _OF_ROWS or both in _KEPT_OF_SAME):
        # A sum over each device's rows remains such a sum when its elements are moved.
        return both
    return _rowwise(*(how(part).truth for part in parts))


def inner(*parts: Along) -> Along:
    """Returns the result of a function of one or more arrays that works along dimensions other than the first."""
    return Along(_rowwise(*(within_rows(part).truth for part in parts)), typed(*parts))


def reshaped(part: Along) -> Along:
    """Returns the result of `x.reshape(…)`: the elements stay in order, so rows stay together."""
    return Along(DIFFERS if part.truth == COLUMNS else linear(part).truth, part.typed)


def transposed(part: Along) -> Along:
    """Returns the result of `x.T`."""
    return Along({ROWS: COLUMNS, COLUMNS: ROWS}.get(part.truth, part.truth), part.typed)


def gathered(part: Along) -> Along:
    """Returns the result of `all_gather` over the axis: all parts on each device, although JAX types it as varying."""
    return Along(SAME, VARYING)


def gathered_invariant(part: Along) -> Along:
    """Returns the result of `all_gather_invariant` over the axis."""
    return Along(SAME, INVARIANT)


def totalled(part: Along) -> Along:
    """Returns the result of `psum` over the axis."""
    means = dict.fromkeys((MEAN, PAIRS_MEAN, RATIO), MEANS_SUMMED)
    found = {SUM: TOTAL, SHARE: AVERAGE, ZERO: ZERO, **means}
    return Along(found.get(part.truth, SAME), INVARIANT)


def averaged_over(part: Along) -> Along:
    """Returns the result of `pmean` over the axis."""
    sums = dict.fromkeys((SUM, SHARE), SUMS_AVERAGED)
    found = {MEAN: AVERAGE, PAIRS_MEAN: AVERAGE, RATIO: RATIOS_AVERAGED, **sums}
    return Along(found.get(part.truth, part.truth if is_same(part.truth) else SAME), INVARIANT)


def same_over(part: Along) -> Along:
    """Returns the result of `pmax` or `pmin` over the axis."""
    return Along(SAME, INVARIANT)


def different_over(part: Along) -> Along:
    """Returns the result of a collective that gives each device a different value."""
    return Along(UNTOLD, VARYING)


def indexed(part: Along) -> Along:
    """Returns the device's index along the axis."""
    return Along(NUMBER, VARYING)


def divided_anew(part: Along) -> Along:
    """Returns the result of `all_to_all` over the axis: each device has different parts of all devices' arrays."""
    return Along(DIFFERS if is_different(part.truth) else UNTOLD, VARYING)


def looked_up(array: Along, index: Along) -> Along:
    """Returns the result of `array[index]`: entries of a table that all devices hold, one per entry of the index."""
    if is_same(array.truth) and index.truth in (ROWS, ROW):
        return Along(index.truth, typed(array, index))
    return mixed(array, index)


def cast_to_varying(part: Along) -> Along:
    """Returns the result of `pcast(x, axis, to="varying")`: the same array with another type."""
    return Along(part.truth, VARYING)


def as_zeros(part: Along) -> Along:
    """Returns the result of `zeros_like(x)` if JAX gives the result its argument's type."""
    return Along(ZERO, part.typed)


def as_constant(part: Along) -> Along:
    """Returns the result of `ones_like(x)` if JAX gives the result its argument's type."""
    return Along(GIVEN, part.typed)


def entered_by_row(part: Along) -> Along:
    """Returns an argument as a vmapped function sees it, mapped along the first dimension."""
    return Along(ROW if is_different(part.truth) else _rowwise(part.truth), part.typed)


def left_by_row(part: Along) -> Along:
    """Returns a `vmap`'s result, given the result of its function."""
    return Along(ROWS if part.truth == ROW else _rowwise(part.truth) if part.truth == ROWS else part.truth, part.typed)


def taken_apart(part: Along) -> Along:
    """Returns the part of an array that a `scan` passes to one step: again an array of the device's rows."""
    return Along(ROWS if part.truth == ROWS else mixed(part).truth, part.typed)


def stacked(part: Along) -> Along:
    """Returns the stacked output of a `scan`, given the output of one step."""
    return entry(part)


def stacked_rows(part: Along) -> Along:
    """Returns the stacked output of a `scan` whose steps return one number for each row."""
    return Along(COLUMNS, part.typed) if part.truth == ROWS else stacked(part)


def differentiated(loss: Along, value: Along) -> Along:
    """Returns the gradient of a loss with respect to a value if JAX does not sum it automatically."""
    truths = (loss.truth, value.truth)
    if is_same(value.truth) and loss.truth in _OF_ROWS:
        return Along(loss.truth, typed(loss, value))
    # Unknown parameters do not cancel a difference in the loss.
    truth = DIFFERS if is_different(loss.truth) else _rowwise(*truths)
    return Along(DIFFERS if is_different(truth) else truth, typed(loss, value))


def differentiated_checked(loss: Along, value: Along) -> Along:
    """Returns the gradient in a checked `shard_map`, which sums it if JAX types the value as invariant."""
    if value.typed != INVARIANT:
        return differentiated(loss, value) if value.typed == VARYING else NOT_KNOWN
    if loss.typed == VARYING:
        return Along(totalled(loss).truth if loss.truth in (SUM, SHARE, MEAN, PAIRS_MEAN) else SAME, INVARIANT)
    return Along(SAME, INVARIANT) if loss.typed == INVARIANT else NOT_KNOWN
