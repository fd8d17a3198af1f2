"""Numbers of devices that are computed from their indices along two axes: `index * size + other index`."""

from __future__ import annotations

from typing import Any

from meshlens.axes.data.arrays import count_of
from meshlens.axes.data.parts import OWN_INDEX
from meshlens.axes.domain.axis_sizes import size_along
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, SCALED_INDEX, of_kinds
from meshlens.axes.domain.values import Const, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run


def of_product(left: Value, right: Value) -> frozenset[Any]:
    """Returns the label of a product of a device's index and a number that may be the size of an axis."""
    for index, factor in ((left, right), (right, left)):
        axes = of_kinds(labels_of(index), OWN_INDEX)
        count = count_of(factor) if len(axes) == 1 else None
        origin = factor.origin if isinstance(factor, Const) else None
        if count is not None and (origin is not None or not isinstance(factor, Const)):
            return frozenset([(SCALED_INDEX, *(axis for _, axis in axes), count, origin)])
    return NONE


def note_product(run: Run, left: Value, right: Value, ctx: Context) -> None:
    """Notes an index times a quotient by the size of another axis, where the quotient should be the size of a part."""
    for index, factor in ((left, right), (right, left)):
        axes = [axis for _, axis in of_kinds(labels_of(index), OWN_INDEX)]
        part = factor.part if isinstance(factor, Const) else None
        if len(axes) != 1 or part is None or part.parts is None:
            continue
        size = size_along(ctx.env, axes[0])
        others = {axis: size_along(ctx.env, axis) for axis in ctx.env.names if axis != axes[0]}
        if size not in (None, 1, part.parts) and part.parts in others.values():
            run.records.gradient_uses.append(GradientUse("part-of-another", part.site, None, ctx, axes[0], part.parts))


def note_number(run: Run, left: Value, right: Value, site: Site, ctx: Context) -> None:
    """Notes a number that several devices have, because an index is multiplied by the size of its own, shorter axis."""
    for product, index in ((left, right), (right, left)):
        axes = [axis for _, axis in of_kinds(labels_of(index), OWN_INDEX)]
        scaled = of_kinds(labels_of(product), SCALED_INDEX) if len(axes) == 1 else []
        for _, own, count, origin in scaled:
            (axis,) = axes
            size = size_along(ctx.env, axis)
            if own != axis and count == size_along(ctx.env, own) and size is not None and count < size:
                run.records.gradient_uses.append(GradientUse("number-shared", site, origin, ctx, axis, count))
