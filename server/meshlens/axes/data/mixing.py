"""Reshapes that mix the parts of different devices, because an axis that counts devices is not moved first.

A reshape keeps the order of the elements. Splitting the second axis of an array into one part for each device gives
`(a, n, c)`; `(n, a, c)` needs a transposition, and a reshape to it puts elements of different parts together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.axis_sizes import size_along
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import COLUMNS
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_MIXED, _STACKED, _JOINED = "mixed-parts", "stacked-parts", "joined-parts"
_PIECES = "pieces"
_CONCATENATE = frozenset({"jax.numpy.concatenate", "numpy.concatenate"})
_PLACES = {"all_gather": "axis", "all_to_all": "concat_axis"}
"""The parameter that says along which axis a collective puts the parts together."""
_NOTED = {
    (_STACKED, "all_gather"): "stack-mixed",
    (_STACKED, "all_to_all"): "sent-stack-mixed",
    (_JOINED, "all_to_all"): "joined-mixed",
}
"""The kind of record for each way to put the parts together and then mix them."""


def of_collective(name: str, found: Mapping[str, Arg], names: tuple[str, ...]) -> frozenset[Any]:
    """Returns the label of the result of a collective that puts the devices' parts together along the first axis.

    `all_gather` and `all_to_all` stack the parts along a new axis; a tiled `all_to_all` concatenates them.
    """
    if name not in _PLACES or "axis_index_groups" in found or len(names) != 1:
        return NONE
    place = found.get(_PLACES[name])
    if place is not None and place.value != Const(0):
        return NONE
    if "tiled" not in found or found["tiled"].value == Const(False):
        return frozenset([(_STACKED, names[0], name)])
    is_joined = name == "all_to_all" and found["tiled"].value == Const(True)
    return frozenset([(_JOINED, names[0], name)]) if is_joined else NONE


def of_reshape(run: Run, array: Value, shape: Sizes | None, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of a reshaped array, and notes a reshape that mixes what a collective put together."""
    before = shape_of(array)
    if before is None or shape is None or len(before) < 2 or len(shape) < 2:
        return NONE
    for kind, axis, name in of_kinds(labels_of(array), _STACKED, _JOINED):
        count = size_along(ctx.env, axis)
        if count is None or before[0] is None or before[1] is None:
            continue
        if kind == _STACKED:
            is_mixed = before[0] == count != before[1] == shape[0] and before[1] != 1
        else:
            each = before[0] // count
            merged = (each, before[1] * count, *before[2:])
            is_mixed = each not in (1, count) and shape == merged
        if is_mixed:
            run.records.gradient_uses.append(GradientUse(_NOTED[kind, name], site, None, ctx, axis))
    count, rows = shape[0], before[0]
    is_moved = len(shape) == len(before) + 1 and count != rows == shape[1] and before[2:] == shape[3:]
    sizes = (count, rows, *before[2:])
    if not is_moved or None in sizes or 1 in (count, rows):
        return NONE
    return frozenset([(_MIXED, count, site)])


def of_concatenation(name: str, args: tuple[Arg, ...], shape: Sizes | None, site: Site) -> frozenset[Any]:
    """Returns the label of arrays of equal width, such as the weights Q, K and V, concatenated along the last axis.

    The label gives the number of arrays and their total width; it survives as long as the columns are not reordered.
    """
    parts = args[0].value if name in _CONCATENATE and len(args) == 2 else None
    if not isinstance(parts, Seq) or parts.open or len(parts.items) < 2 or not shape or shape[-1] is None:
        return NONE
    widths = {(shape_of(part) or (None,))[-1] for part in parts.items}
    if args[1].label not in (None, "axis") or args[1].value not in (Const(-1), Const(len(shape) - 1)):
        return NONE
    return frozenset([(_PIECES, len(parts.items), shape[-1], site)]) if len(widths) == 1 and len(shape) > 1 else NONE


def note_split(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Notes that each device splits its columns into parts, although whole arrays were concatenated before."""
    if name != "jax.numpy.split" or len(args) < 2 or not isinstance(args[0].value, Data):
        return
    shape, last = args[0].value.shape, [arg.value for arg in args[2:] if arg.label in (None, "axis")]
    if not shape or shape[-1] is None or last not in ([Const(-1)], [Const(len(shape) - 1)]):
        return
    for _, count, width, place in of_kinds(labels_of(args[0].value), _PIECES):
        for axis, along in variation_of(args[0].value).axes:
            size = size_along(ctx.env, axis)
            is_cut = size not in (None, 1) and shape[-1] * (size or 1) == width
            if is_cut and along.truth == COLUMNS and args[1].value == Const(count):
                run.records.gradient_uses.append(GradientUse("pieces-mixed", site, place, ctx, axis))


def note_sent(run: Run, value: Value, found: Mapping[str, Arg], names: tuple[str, ...], ctx: Context) -> None:
    """Notes the reshape that mixed the parts which an `all_to_all` sends to the devices."""
    split = found.get("split_axis")
    if split is None or split.value != Const(0) or len(names) != 1:
        return
    for _, count, site in of_kinds(labels_of(value), _MIXED):
        if count == size_along(ctx.env, names[0]):
            run.records.gradient_uses.append(GradientUse("parts-mixed", site, None, ctx, names[0]))
