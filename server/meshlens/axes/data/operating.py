"""The variation of the results of the operations in `jaxapi/operations.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

from meshlens.axes.data import transfer
from meshlens.axes.data.contractions import EINOPS, einsum_terms, sides_of
from meshlens.axes.data.transfer import across
from meshlens.axes.domain.axis_sizes import counts_along, counts_devices
from meshlens.axes.domain.joining import variation_of, variations_in
from meshlens.axes.domain.labels import NONE, SUM_HERE
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import (
    ANYTHING,
    COLUMNS,
    EVERYWHERE,
    MEAN,
    SHARE,
    SUM,
    VARYING,
    ZEROS,
    Along,
    Variation,
    is_apart,
    joined,
    of,
)
from meshlens.axes.runs.context import AxisEnv
from meshlens.jaxapi.operations import AXES, METHODS, OPERATIONS, Kind

_ONE: dict[Kind, Callable[[Along], Along]] = {"linear": transfer.linear, "transposed": transfer.transposed}
_TWO: dict[Kind, Callable[[Along, Along], Along]] = {
    "added": transfer.added,
    "subtracted": transfer.subtracted,
    "multiplied": transfer.multiplied,
    "divided": transfer.divided,
    "product": transfer.product,
}
_ANY: dict[Kind, Callable[..., Along]] = {
    "rowwise": transfer.rowwise,
    "curved": transfer.curved,
    "judged": transfer.judged,
    "chosen": transfer.chosen,
    "mixed": transfer.mixed,
    **_ONE,
    **_TWO,
}
_OPERATORS: dict[str, Callable[[Along, Along], Along]] = {
    "+": transfer.added,
    "-": transfer.subtracted,
    "*": transfer.multiplied,
    "/": transfer.divided,
    "@": transfer.product,
    "**": transfer.curved,
}
SIZES = frozenset({"constant", "zeros"})
"""Kinds of operations whose results do not depend on any array."""

_NO_ARRAYS = frozenset({"dtype", "axis", "keepdims", "axes", "precision", "out", "promote_integers", "dimension"})


def of_operator(operator: str, left: Value, right: Value, denominator_is_written: bool, env: AxisEnv) -> Variation:
    """Returns the variation of `left operator right` where the axes of `env` are bound."""
    one, other = variation_of(left), variation_of(right)
    if operator == "/" and denominator_is_written:
        return across(transfer.linear, one)
    if operator == "/" and counts_devices(right):
        return _shared_out(one, other, right, env)
    if operator in ("+", "-"):
        one, other = _along_last(left, one, other), _along_last(right, other, one)
        if type(left) is not Const and type(right) is not Const:
            return across(transfer.added_arrays if operator == "+" else transfer.subtracted_arrays, one, other)
    return across(_OPERATORS.get(operator, transfer.rowwise), one, other)


def _shared_out(left: Variation, divisor: Variation, number: Value, env: AxisEnv) -> Variation:
    """Returns the variation of `left / number`, where the number is computed from a number of devices."""
    divided = across(transfer.shared_out, left, divisor)
    along = [
        (axis, Along(SHARE, divided.over(axis).typed))
        for axis, part in left.axes
        if part.truth in (SUM, MEAN) and counts_along(number, axis, env)
    ]
    return of([*dict([*divided.axes, *along]).items()], divided.rest)


def _along_last(value: Value, own: Variation, other: Variation) -> Variation:
    """Returns an operand's variation; the rows of a vector that is combined with columns count as columns."""
    if not isinstance(value, Data) or value.shape is None or len(value.shape) != 1:
        return own
    if not any(along.truth == COLUMNS for _, along in other.axes):
        return own
    return across(transfer.transposed, own)


def of_function(dotted: str, args: tuple[Arg, ...]) -> Variation | None:
    """Returns the variation of a JAX function's result; None if the tables do not list the function."""
    if dotted in _EINSUM:
        return _of_einsum(args)
    if dotted in _SEGMENTS and len(args) > 1 and args[0].label is None and args[1].label is None:
        how = transfer.summed_by if dotted == _SEGMENT_SUM else transfer.mixed
        return across(how, variation_of(args[0].value), variation_of(args[1].value))
    if dotted in _CONVOLUTIONS and len(args) > 1 and _convolves_rows(args):
        return across(transfer.product, variation_of(args[0].value), variation_of(args[1].value))
    if dotted in EINOPS and args:
        return _of_einops(dotted, args)
    kind = OPERATIONS.get(dotted)
    return _of_kind(kind, args, dotted) if kind is not None else None


def _of_einops(dotted: str, args: tuple[Arg, ...]) -> Variation:
    """Returns the variation of an array that is rearranged, repeated or reduced by a pattern."""
    array, sides = args[0].value, sides_of(args)
    if sides is None or not sides[0] or not sides[1]:
        return of_all((array,))
    before, after = sides
    order, others = [[axis for group in side for axis in group] for side in sides]
    is_first_kept = before[0][:1] == after[0][:1]
    if dotted == "einops.reduce":
        how = next((arg.value for arg in args[2:] if arg.label in (None, "reduction")), None)
        kind = _REDUCED_BY.get(str(how.value), "reduction") if isinstance(how, Const) else "reduction"
        return _of_kind(kind, (args[0], Arg("axis", Const(-1 if is_first_kept else 0), None, None)), dotted)
    over = variation_of(array)
    if order == others:
        return across(transfer.reshaped, over)
    return across(transfer.arranged if is_first_kept and before[0] == after[0] else transfer.arranged_first, over)


_REDUCED_BY: dict[str, Kind] = {"mean": "mean", "sum": "sum"}


_CONVOLUTIONS = frozenset(
    {"jax.lax.conv_general_dilated", "jax.lax.conv", "jax.lax.conv_with_general_padding", "jax.lax.conv_transpose"}
)


def _convolves_rows(args: tuple[Arg, ...]) -> bool:
    """Returns whether the first dimension of a convolution's input is the batch, as it is by default."""
    given = next((arg.value for arg in args if arg.label == "dimension_numbers"), Const(None))
    layout = given.items[0] if isinstance(given, Seq) and given.items else given
    is_default = isinstance(layout, Const) and (layout.value is None or str(layout.value).startswith("N"))
    return is_default and all(arg.label is None for arg in args[:2])


_SEGMENT_SUM = "jax.ops.segment_sum"
_SEGMENTS = frozenset({_SEGMENT_SUM, "jax.ops.segment_max", "jax.ops.segment_min", "jax.ops.segment_prod"})
_EINSUM = frozenset({"jax.numpy.einsum", "numpy.einsum"})


def _of_einsum(args: tuple[Arg, ...]) -> Variation:
    """Returns the variation of an `einsum`: that of a matrix product, or rows if each row is computed from one row."""
    found = einsum_terms(args)
    if found is None:
        return of_all(arg.value for arg in args)
    terms, output = found
    parts = [variation_of(value) for _, value in terms]
    if len(terms) == 2 and "." not in output:
        (left, _), (right, _) = terms
        if left[-1:] == right[:1] and output == left[:-1] + right[1:]:
            return across(transfer.product, *parts)
        if left[-1:] == right[-1:] and len(right) == 2 and output == left[:-1] + right[:1]:
            return across(transfer.product, parts[0], across(transfer.transposed, parts[1]))
    rows = {term[:1] for term, _ in terms}
    if len(rows) == 1 and not rows <= {*output, ".", ""}:
        return across(transfer.summed, across(transfer.rowwise, *parts))
    first = output[:1]
    of_rows = [term[:1] == first for term, _ in terms]
    kinds = [transfer.within_rows if keeps else transfer.mixed for keeps in of_rows]
    return across(transfer.rowwise, *(across(how, part) for how, part in zip(kinds, parts, strict=True)))


_ANY_ARRAY = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.scipy.")
_BUILTIN = frozenset({"int", "float", "bool", "abs", "max", "min", "round", "range", "str", "sum"})


def of_library(dotted: str, args: tuple[Arg, ...]) -> Variation | None:
    """Returns the variation of the result of a function outside the workspace; None if nothing is known about it."""
    known = of_function(dotted, args)
    if known is not None:
        return known
    if dotted == "sum" and args and isinstance(args[0].value, Seq) and args[0].value.items:
        first, *others = [variation_of(item) for item in (*args[0].value.items, *(arg.value for arg in args[1:]))]
        return reduce(partial(across, transfer.added_arrays), others or [first], first)
    if dotted.startswith("jax.random."):
        return of_all(arg.value for arg in args)
    if dotted.startswith(_ANY_ARRAY) or dotted in _BUILTIN:
        return across(transfer.judged, of_all(arg.value for arg in args))
    return None


def of_method(receiver: Data, name: str, args: tuple[Arg, ...], site: object = None) -> Variation:
    """Returns the variation of an array method's result."""
    kind = METHODS.get(name)
    if kind is None:
        return ANYTHING
    return _of_kind(kind, (Arg(None, receiver, None, None), *args), f"method.{name}")


def counted(over: Variation, site: Site) -> frozenset[Any]:
    """Returns the labels of a sum that a device takes over its own rows, or over other data of its own."""
    if any(along.truth == SUM for _, along in over.axes):
        return NONE | {("counted", site), (SUM_HERE, site)}
    is_own = any(is_apart(along.truth) and along.typed == VARYING for _, along in over.axes)
    if is_own:
        return NONE | {("own-sum", site), (SUM_HERE, site)}
    return NONE | {(SUM_HERE, site)} if any(along.typed == VARYING for _, along in over.axes) else NONE


def of_all(values: Iterable[Value]) -> Variation:
    """Returns the variation of a result that is computed from these values without reducing over an axis."""
    parts: dict[Variation, None] = {}
    for value in values:
        for one in variations_in(value):
            parts[one] = None
    return across(transfer.mixed, *parts) if parts else EVERYWHERE


def of_network(value: Value, args: tuple[Arg, ...]) -> Variation:
    """Returns the variation of a model's output: as seen when the model ran, or else derived from its inputs."""
    own = variation_of(value)
    parts = tuple(dict.fromkeys(one for arg in args for one in variations_in(arg.value)))
    return own if own != ANYTHING or not parts else across(transfer.networked, *parts)


def _of_kind(kind: Kind, args: tuple[Arg, ...], dotted: str) -> Variation:
    if kind in SIZES:
        return ZEROS if kind == "zeros" else EVERYWHERE
    if kind == "untold" or any(arg.label in ("*", "**") for arg in args):
        return ANYTHING
    arrays = [arg for arg in args if arg.label not in _NO_ARRAYS]
    if not arrays:
        return ANYTHING
    first = variation_of(arrays[0].value)
    if kind == "second":
        return variation_of(arrays[1].value) if len(arrays) > 1 else ANYTHING
    if kind == "zeros_like":
        return across(transfer.as_zeros, first)
    if kind == "constant_like":
        return across(transfer.as_constant, first)
    if kind in ("sum", "mean", "reduction", "verdict"):
        return _reduced(kind, arrays, args, dotted)
    if kind in _MOVES or (kind == "transposed" and len(args) > 1):
        return _moved(kind, args, dotted.rpartition(".")[2])
    if kind == "rearranged":
        return across(transfer.arranged_first, first)
    if kind == "counted":
        weights = next((arg.value for arg in args[1:] if arg.label in (None, "weights")), Const(None))
        return across(transfer.summed_by, variation_of(weights), first)
    if kind == "along":
        axis = _axis(args, 1)
        if type(axis) is Data:
            # The second argument is an array as well, such as the labels of a cross entropy.
            axis, first = None, across(transfer.rowwise, *(variation_of(arg.value) for arg in arrays))
        return across(transfer.within_rows if _is_within(axis, arrays[0].value, -1) else transfer.mixed, first)
    if kind == "bounded":
        others = [arg for arg in arrays if not isinstance(arg.value, Const)]
        if len(arrays) == 2 and len(others) == 1:
            return across(transfer.bounded, variation_of(others[0].value))
        kind = "rowwise"
    if (kind in _TWO and len(arrays) != 2) or (kind in _ONE and len(arrays) != 1):
        if kind not in ("linear", "transposed"):
            return of_all(arg.value for arg in arrays)
        return across(transfer.linear if kind == "linear" else transfer.mixed, first)
    if kind == "mixed":
        return of_all(arg.value for arg in arrays)
    return across(_ANY[kind], *(variation_of(arg.value) for arg in arrays))


_MOVES = frozenset({"reshaped", "arranged", "inner", "reordered", "looked up"})
_ON_TWO = frozenset({"take_along_axis"})


def _moved(kind: Kind, args: tuple[Arg, ...], name: str) -> Variation:
    """Returns the variation of the result of a function that moves elements within arrays, or works along an axis."""
    array = args[0].value
    first = variation_of(array)
    if args[0].label in _NO_ARRAYS:
        return ANYTHING
    if kind == "reshaped":
        return across(transfer.reshaped, first) if not _begins_with_one(args) else of_all((array,))
    if kind in ("reordered", "transposed"):
        keeps = _begins_with_first(args) if name == "transpose" else _swaps_others(args)
        return across(transfer.arranged if keeps else transfer.arranged_first, first)
    place, default = AXES[name]
    axis = _axis(args, place)
    if axis is None and default is not None:
        axis = Const(default)
    if kind == "looked up":
        is_table = isinstance(axis, Const) and axis.value == 0 and len(args) > 1
        return across(transfer.looked_up, first, variation_of(args[1].value)) if is_table else of_all(_values(args))
    values = _values(args[: 2 if name in _ON_TWO else 1])
    parts = tuple(variation_of(value) for value in values)
    within = axis is not None and not _is_none(axis) and _is_within(axis, values[0], None)
    if kind == "inner":
        return across(transfer.inner if within else transfer.mixed, *parts)
    return across(transfer.arranged if within else transfer.arranged_first, *parts) if parts else ANYTHING


def _values(args: tuple[Arg, ...]) -> tuple[Value, ...]:
    """Returns the arrays passed to a function, either individually or in a list."""
    first = args[0].value
    if isinstance(first, Seq) and not first.open and first.items:
        return (*first.items, *(arg.value for arg in args[1:]))
    return tuple(arg.value for arg in args)


def _begins_with_one(args: tuple[Arg, ...]) -> bool:
    """Returns whether an array gets a new first dimension of size 1, as in `x.reshape(1, -1)`."""
    sizes = args[1].value if len(args) > 1 else None
    first = sizes.items[0] if isinstance(sizes, Seq) and sizes.items else sizes
    return isinstance(first, Const) and first.value == 1


def _begins_with_first(args: tuple[Arg, ...]) -> bool:
    """Returns whether a new order of all dimensions leaves the first one where it is."""
    order = args[1].value
    return (order.items[0] if isinstance(order, Seq) and order.items else order) == Const(0)


def _swaps_others(args: tuple[Arg, ...]) -> bool:
    """Returns whether neither of two swapped dimensions is the first one."""
    rank = args[0].value.shape if isinstance(args[0].value, Data) else None
    return len(args) == 3 and all(_is_inner(one.value, len(rank) if rank is not None else None) for one in args[1:])


def _axis(args: tuple[Arg, ...], place: int) -> Value | None:
    for arg in args:
        if arg.label in ("axis", "dimension"):
            return arg.value
    positional = [arg for arg in args if arg.label is None]
    return positional[place].value if len(positional) > place else None


def _is_within(axis: Value | None, array: Value, default: int | None) -> bool:
    """Returns whether a function works only along dimensions other than the first, so that rows stay rows."""
    if axis is None:
        if default is None:
            return False
        axis = Const(default)
    places = axis.items if isinstance(axis, Seq) and not axis.open else (axis,)
    rank = len(array.shape) if isinstance(array, Data) and array.shape is not None else None
    return all(_is_inner(place, rank) for place in places)


def _is_inner(place: Value, rank: int | None) -> bool:
    number = place.value if isinstance(place, Const) else None
    if not isinstance(number, int) or isinstance(number, bool):
        return False
    # Code that means the first dimension says 0, not a negative number.
    return number > 0 or (number < 0 and (rank is None or rank + number > 0))


def _takes_first(axis: Value | None) -> bool:
    """Returns whether a reduction certainly includes the first dimension."""
    if axis is None or (isinstance(axis, Const) and axis.value is None):
        return True
    # In code for any rank, `tuple(range(x.ndim - 1))` begins with 0.
    is_known = isinstance(axis, Seq) and (not axis.open or axis.kind == "tuple")
    places = axis.items if is_known and isinstance(axis, Seq) else (axis,)
    return any(isinstance(place, Const) and place.value == 0 and type(place.value) is int for place in places)


def _reduced(kind: Kind, arrays: list[Arg], args: tuple[Arg, ...], dotted: str) -> Variation:
    axis = _axis(args, 1)
    value = arrays[0].value
    given = [arg for arg in arrays if not (arg.label is None and arg is not arrays[0] and arg.value is axis)]
    within = _is_within(axis, value, None)
    if len(given) > 1:
        whole = of_all(arg.value for arg in given)
        return across(transfer.judged, whole) if kind == "verdict" else whole
    first = variation_of(value)
    if kind in ("sum", "mean"):
        if not within and _takes_first(axis):
            return across(transfer.summed if kind == "sum" else transfer.averaged, _turned(first, axis))
        if within and axis == Const(-1):
            first = across(transfer.summed_last if kind == "sum" else transfer.averaged_last, first)
        if within:
            return across(transfer.picked, first)
    elif within:
        return across(transfer.within_rows, first)
    mixed = across(transfer.mixed, first)
    return across(transfer.judged, mixed) if kind == "verdict" else mixed


def _turned(over: Variation, axis: Value | None) -> Variation:
    """Returns a variation with rows in place of columns if a sum is over all dimensions."""
    return across(transfer.with_rows, over) if axis is None or _is_none(axis) else over


def of_sliced(array: Data, index: Seq) -> Variation:
    """Returns the variation of `array[start:stop]`, which contains some or all of each device's rows."""
    return array.over if all(_is_none(part) for part in index.items) else of_all((array, index))


def of_picked(array: Data, index: Value) -> Variation:
    """Returns the variation of `array[index]`; for a container, that of the entry."""
    if isinstance(index, Const) and (isinstance(index.value, str) or index.value is Ellipsis):
        return array.over
    if isinstance(index, Seq) and index.kind == "tuple" and index.items:
        first = index.items[0]
        is_whole = isinstance(first, Seq) and first.kind == "slice" and all(_is_none(part) for part in first.items)
        if is_whole or _is_none(first) or (isinstance(first, Const) and first.value is Ellipsis):
            return across(transfer.picked, array.over) if not _is_none(first) else of_all((array,))
    if isinstance(index, Const) and not array.array and array.shape is None:
        # The index may pick an entry of a container or a row of an array.
        return joined(array.over, across(transfer.entry, array.over))
    if isinstance(index, Const) and type(index.value) is int:
        return across(transfer.entry, array.over)
    if type(index) is Data:
        return across(transfer.looked_up, array.over, index.over)
    return of_all((array, index))


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None
