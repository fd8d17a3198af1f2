"""Reshapes that mix the parts of different devices, because an axis that counts devices is not moved first.

A reshape keeps the order of the elements. Splitting the second axis of an array into one part for each device gives
`(a, n, c)`; `(n, a, c)` needs a transposition, and a reshape to it puts elements of different parts together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.axis_sizes import size_along
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_MIXED, _STACKED, _JOINED = "mixed-parts", "stacked-parts", "joined-parts"
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
            is_mixed = 1 != each != count and (*shape,) == (each, before[1] * count, *before[2:])
        if is_mixed:
            run.records.gradient_uses.append(GradientUse(_NOTED[kind, name], site, None, ctx, axis))
    count, rows = shape[0], before[0]
    is_moved = len(shape) == len(before) + 1 and count != rows == shape[1] and before[2:] == shape[3:]
    if not is_moved or None in (count, rows, *before[2:]) or 1 in (count, rows):
        return NONE
    return frozenset([(_MIXED, count, site)])


def note_sent(run: Run, value: Value, found: Mapping[str, Arg], names: tuple[str, ...], ctx: Context) -> None:
    """Notes the reshape that mixed the parts which an `all_to_all` sends to the devices."""
    split = found.get("split_axis")
    if split is None or split.value != Const(0) or len(names) != 1:
        return
    for _, count, site in of_kinds(labels_of(value), _MIXED):
        if count == size_along(ctx.env, names[0]):
            run.records.gradient_uses.append(GradientUse("parts-mixed", site, None, ctx, names[0]))
