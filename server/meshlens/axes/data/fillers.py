"""Rows that fill up a batch, and the weights and lengths by which they count like the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from meshlens.axes.data.arrays import count_of
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import COUNT, FILLED_ONES, NONE, ONES, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_FILLED, _LENGTH = "filled", "length-of-filled"
"""The kinds of labels of an array that was filled up, and of the number of its rows."""
_MASK, _MASKED, _ONE_EACH = "mask", "masked", "one-each"
"""The kinds of labels of weights that are 0 for the fillers, of what is multiplied by them, and of ones for all."""
OF_FILLED, OF_MASK = "of-filled", "of-mask"
"""The kinds of labels of values computed from a padded array, and from weights that are 0 for the padding rows."""
_MARKED = "marked-filler"
"""The kind of the label of an array that was filled up with a value that marks the fillers, such as a label of -1."""
_KINDS = (_FILLED, FILLED_ONES, _MASK, _ONE_EACH, _MARKED)
MASKED_SUM, COUNTED_ALL, SUMMED_ALL = "masked-sum", "all-rows-counted", "all-rows-summed"
"""The kinds of the records of a sum without the fillers, and of a count and a sum or mean that include them."""
MASK_IN_BATCH = "mask-in-batch"
"""The kind of the record of weights that a dictionary holds next to the filled arrays, with their key as the axis."""

_MODULES = ("numpy.", "jax.numpy.", "jax.device_put")
_MAKE_ONES = frozenset({"ones", "ones_like"})
_FILL = frozenset({"pad", "resize"})
_MOVE = frozenset("asarray array astype reshape ravel squeeze copy device_put float32".split())
_COUNT = frozenset({"float32", "asarray", "array"})
_CONCERNED = _MAKE_ONES | _FILL | _MOVE | {"sum", "mean", "full"}
_REPEAT = frozenset({"edge", "wrap", "reflect", "symmetric"})
"""The modes in which `pad` repeats entries of the array."""


def of_call(run: Run, name: str, args: tuple[Arg, ...], found: Data, site: Site, ctx: Context) -> Data:
    """Returns the result of a function or method with labels of ones and of filled arrays; notes sums of such ones.

    Args:
        run: the run.
        name: the name of the function, or of the method after that of a module.
        args: its arguments; for a method, the object comes first.
        found: the result without the labels.
        site: the call.
        ctx: the context.
    """
    short = name.rpartition(".")[2]
    if short not in _CONCERNED or not args or not name.startswith(_MODULES):
        return found
    labels = labels_of(args[0].value)
    more: frozenset[Any] = NONE
    if short in _MAKE_ONES or (short == "full" and len(args) > 1 and args[1].value in (Const(1), Const(1.0))):
        is_of_mask = short == "ones_like" and bool(of_kinds(labels, _MASK))
        more = NONE | {ONES, (_ONE_EACH, site)} if is_of_mask else NONE | {ONES}
    elif short in _MOVE:
        more = moved(labels)
        if short in _COUNT:
            note_counted(run, args[0].value, site, ctx)
    elif short in ("sum", "mean"):
        for _, place in of_kinds(labels, FILLED_ONES) if short == "sum" else ():
            run.records.gradient_uses.append(GradientUse("fillers-counted", place, None, ctx))
        for kind, _ in of_kinds(labels, _MASKED, _ONE_EACH) if short == "sum" else ():
            how = MASKED_SUM if kind == _MASKED else COUNTED_ALL
            run.records.gradient_uses.append(GradientUse(how, site, None, ctx))
        _note_summed(run, args, found, site, ctx)
    elif short == "resize" or _fills_up(args):
        more = NONE | {(_FILLED, site), (OF_FILLED, site)} | ({(_MARKED, site)} if _marks(args) else NONE)
        if ONES in labels and (short == "resize" or _fills_with_ones(args)):
            more |= {(FILLED_ONES, site)}
        elif ONES in labels:
            more |= {(_MASK, site), (OF_MASK, site)}
    return replace(found, labels=found.labels | more) if more else found


def moved(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of a filled array, or of the weights of its rows, that it keeps when rows are moved."""
    return frozenset(of_kinds(labels, *_KINDS)) | (labels & {ONES})


def _note_summed(run: Run, args: tuple[Arg, ...], found: Data, site: Site, ctx: Context) -> None:
    """Notes a sum or mean of numbers that are computed from a filled array, and not from the weights of its rows."""
    axis = by_parameter(("a", "axis"), args).get("axis")
    if found.shape != () and axis is not None and axis.value != Const(None):
        return
    labels = frozenset().union(*(labels_of(arg.value) for arg in args))
    for _, place in of_kinds(labels, OF_FILLED) if not of_kinds(labels, OF_MASK) else ():
        run.records.gradient_uses.append(GradientUse(SUMMED_ALL, site, place, ctx))


def _fills_up(args: tuple[Arg, ...]) -> bool:
    """Returns whether a `pad` adds rows, and only at the end."""
    width = by_parameter(("array", "pad_width"), args).get("pad_width")
    pair = width.value if width is not None else None
    if isinstance(pair, Seq) and pair.items and isinstance(next(iter(pair.items)), Seq):
        pair = next(iter(pair.items))
    if not isinstance(pair, Seq) or pair.open or len(pair.items) != 2:
        return False
    before, after = pair.items
    return before == Const(0) and after != Const(0)


def _marks(args: tuple[Arg, ...]) -> bool:
    """Returns whether a `pad` adds another value than 0."""
    constant = by_parameter(("array", "pad_width", "mode"), args).get("constant_values")
    return constant is not None and constant.value not in (Const(0), Const(0.0))


def _fills_with_ones(args: tuple[Arg, ...]) -> bool:
    found = by_parameter(("array", "pad_width", "mode"), args)
    mode, constant = found.get("mode"), found.get("constant_values")
    if constant is not None:
        return constant.value in (Const(1), Const(1.0))
    return mode is not None and isinstance(mode.value, Const) and mode.value.value in _REPEAT


def combined(left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of an elementwise operation's result that has a filled array as an operand."""
    return frozenset([*of_kinds(labels_of(left), _FILLED), *of_kinds(labels_of(right), _FILLED)])


def cut(rows: Data) -> Data:
    """Returns the first rows of an array without the labels of fillers, which come after them."""
    lost = of_kinds(rows.labels, _FILLED, OF_FILLED)
    return replace(rows, labels=rows.labels - frozenset(lost)) if lost else rows


def is_filled(value: Value) -> bool:
    """Returns whether an array was filled up, or tells such rows from the others."""
    return bool(of_kinds(labels_of(value), _FILLED, _MASK))


def is_mask(value: Value) -> bool:
    """Returns whether weights are 0 for the rows that fill up a batch."""
    return type(value) is Data and bool(of_kinds(value.labels, _MASK))


def note_mask(run: Run, batch: Iterable[Value], key: str, site: Site, ctx: Context) -> None:
    """Notes that a dictionary holds filled arrays, and under a key the weights of their rows."""
    labels = NONE.union(*map(labels_of, batch))
    for _, place in of_kinds(labels, _FILLED) if not of_kinds(labels, _MARKED) else ():
        run.records.gradient_uses.append(GradientUse(MASK_IN_BATCH, site, place, ctx, key))


def masked(left: Value, right: Value, site: Site) -> frozenset[Any]:
    """Returns the label of a product with weights that are 0 for the rows that fill up a batch."""
    is_masked = of_kinds(labels_of(left), _MASK) or of_kinds(labels_of(right), _MASK)
    return NONE | {(_MASKED, site)} if is_masked else NONE


def mask_of(operator: str, site: Site) -> frozenset[Any]:
    """Returns the label of `arange(size) < count`, which tells rows from those that fill up a batch."""
    return NONE | {(_MASK, site), (OF_MASK, site)} if operator == "<" else NONE


def note_counted(run: Run, count: Value, site: Site, ctx: Context) -> None:
    """Notes that the number of rows of a filled array becomes a count of rows, by which something may be divided."""
    if of_kinds(labels_of(count), _LENGTH):
        run.records.gradient_uses.append(GradientUse(COUNTED_ALL, site, None, ctx))


def length(array: Value) -> frozenset[Any]:
    """Returns the labels of the number of rows of an array if it was filled up."""
    filled = of_kinds(labels_of(array), _FILLED)
    if not filled or not isinstance(array, Data):
        return NONE
    count = array.shape[0] if array.shape else None
    counts = {(COUNT, count)} if count is not None else NONE
    return frozenset({(_LENGTH, site) for _, site in filled}) | counts


def note_compared(run: Run, operator: str, count: Value, site: Site, ctx: Context) -> None:
    """Notes a comparison of 0, 1, 2, … with the number of rows of a filled array, which is true for the fillers too."""
    if operator in ("<", ">=") and of_kinds(labels_of(count), _LENGTH):
        run.records.gradient_uses.append(GradientUse("length-of-filled", site, None, ctx))


def note_set(run: Run, array: Data, index: Value, site: Site, ctx: Context) -> None:
    """Notes that entries of an array are set: weights after the rows of a filled array, or those that fill it up."""
    for _, place in of_kinds(array.labels, FILLED_ONES):
        run.records.gradient_uses.append(GradientUse("fillers-cleared", place, None, ctx))
    if ONES in array.labels and isinstance(index, Seq) and index.kind == "slice":
        lower, upper, _ = index.items
        if of_kinds(labels_of(lower), _LENGTH) and upper == Const(None) and count_of(lower) != 0:
            run.records.gradient_uses.append(GradientUse("length-of-filled", site, None, ctx))


def changed(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of an array after some of its entries were set."""
    return labels - {ONES} - frozenset(of_kinds(labels, FILLED_ONES))
