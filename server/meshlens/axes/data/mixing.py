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

_MIXED, _STACKED = "mixed-parts", "stacked-parts"


def of_gather(name: str, found: Mapping[str, Arg], names: tuple[str, ...]) -> frozenset[Any]:
    """Returns the label of the result of an `all_gather` that stacks the devices' parts along a new first axis."""
    if name != "all_gather" or "tiled" in found or "axis" in found or "axis_index_groups" in found or len(names) != 1:
        return NONE
    return frozenset([(_STACKED, names[0])])


def of_reshape(run: Run, array: Value, shape: Sizes | None, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of a reshaped array, and notes a reshape that mixes what an `all_gather` stacked."""
    before = shape_of(array)
    if before is None or shape is None or len(before) < 2 or len(shape) < 2:
        return NONE
    for _, axis in of_kinds(labels_of(array), _STACKED):
        count = size_along(ctx.env, axis)
        if count is not None and before[0] == count != before[1] == shape[0] and before[1] != 1:
            run.records.gradient_uses.append(GradientUse("stack-mixed", site, None, ctx, axis))
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
