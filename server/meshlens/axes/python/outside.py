"""Values that a mapped function uses from outside its map: they are the same over the map's axes."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.values import Binder, Data, Dict, Seq, Value
from meshlens.axes.domain.variation import ALIKE, SOME_AXIS, with_axes
from meshlens.axes.runs.context import Context
from meshlens.jaxapi.binders import MAPS_ON_DEVICES

_LARGE = 100


def device_map(ctx: Context) -> Binder | None:
    """Returns the innermost map over devices; None outside all of them."""
    return next((binder for binder in reversed(ctx.env.maps) if binder.kind in MAPS_ON_DEVICES), None)


def axes_of(binder: Binder) -> tuple[str, ...]:
    """Returns the axes of a map, as variations name them."""
    names = tuple(str(name.value) for name in binder.names)
    unnamed = binder.open or (not names and binder.kind in MAPS_ON_DEVICES)
    return (*names, SOME_AXIS) if unnamed else names


def from_outside(value: Value, maps: int, ctx: Context) -> Value:
    """Returns a value from outside a map, in which each array is the same over the map's axes.

    Args:
        value: the value.
        maps: the number of maps that enclose its creation.
        ctx: the context.
    """
    inner = ctx.env.maps[maps:]
    return _alike(value, [axis for binder in inner if binder.kind != "axis_env" for axis in axes_of(binder)])


def _alike(value: Value, axes: list[str]) -> Value:
    if isinstance(value, Data):
        over = with_axes(value.over, axes, ALIKE) if not value.over.axes else value.over
        return value if over == value.over else Data(value.labels, value.shape, value.made_by, value.array, over)
    if isinstance(value, (Seq, Dict)) and axes and value.weight < _LARGE:
        items = value.items if isinstance(value, Seq) else tuple([held for _, held in value.items])
        found = [_alike(item, axes) for item in items]
        if all(one is other for one, other in zip(found, items, strict=True)):
            return value
        if isinstance(value, Seq):
            return replace(value, items=tuple(found))
        return replace(value, items=tuple(zip([key for key, _ in value.items], found, strict=True)))
    return value
