"""Values that a mapped function uses from outside its map: they are the same over the map's axes."""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Data
from meshlens.axes.domain.variation import ALIKE, SOME_AXIS, with_axes
from meshlens.axes.runs.context import Context
from meshlens.jaxapi.binders import MAPS_ON_DEVICES


def device_map(ctx: Context) -> Binder | None:
    """Returns the innermost map over devices; None outside all of them."""
    return next((binder for binder in reversed(ctx.env.maps) if binder.kind in MAPS_ON_DEVICES), None)


def axes_of(binder: Binder) -> tuple[str, ...]:
    """Returns the axes of a map, as variations name them."""
    names = tuple(str(name.value) for name in binder.names)
    unnamed = binder.open or (not names and binder.kind in MAPS_ON_DEVICES)
    return (*names, SOME_AXIS) if unnamed else names


def from_outside(value: Data, maps: int, ctx: Context) -> Data:
    """Returns a value from outside a map, which is the same over the map's axes.

    Args:
        value: the value.
        maps: the number of maps that enclose its creation.
        ctx: the context.
    """
    inner = ctx.env.maps[maps:]
    if not inner or value.over.axes:
        return value
    axes = [axis for binder in inner if binder.kind != "axis_env" for axis in axes_of(binder)]
    over = with_axes(value.over, axes, ALIKE)
    return Data(value.labels, value.shape, value.made_by, value.array, over)
