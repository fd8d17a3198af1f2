"""Means and variances that leave a map, which code outside all maps computes with and other maps get."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from meshlens.axes.data.parts import (
    AVERAGED_VARIANCE,
    CENTRED_BY_ALL,
    MEAN_OF_ALL,
    OWN_VARIANCE,
    note_scaled,
)
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Site, Value
from meshlens.axes.domain.variation import AVERAGE, MEAN
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.run import Run

_OWN_MEANS = "own-means"
"""The kind of the label of the devices' own means, one for each of them."""
_MOMENTS = (MEAN_OF_ALL, AVERAGED_VARIANCE, _OWN_MEANS, OWN_VARIANCE)
_OF_ALL_ROWS = {_OWN_MEANS: MEAN_OF_ALL, OWN_VARIANCE: AVERAGED_VARIANCE}
"""For the kind of the label of one value for each device, that of the mean of these values."""

_MOVE = frozenset("astype asarray array copy device_get squeeze reshape ravel block_until_ready float32".split())
_BEND = frozenset("sqrt rsqrt maximum clip reciprocal".split())
"""Functions of a variance that leave it a wrong scale."""
FUNCTIONS = _MOVE | _BEND | {"mean"}
"""Functions whose results may keep the labels of a mean or variance, by the last part of their names."""


def leaving(returned: Data, axes: Collection[str], is_stacked: bool) -> frozenset[Any]:
    """Returns the labels of a map's result that is a mean or variance over its devices, or one for each device.

    Args:
        returned: the result as the mapped function returns it.
        axes: the axes of the map.
        is_stacked: whether the result has an entry for each device.
    """
    kinds = (AVERAGED_VARIANCE, OWN_VARIANCE) if is_stacked else (AVERAGED_VARIANCE,)
    found = {label for label in of_kinds(returned.labels, *kinds) if label[1] in axes}
    for axis in axes:
        truth = returned.over.over(axis).truth
        if truth == AVERAGE:
            found.add((MEAN_OF_ALL, axis))
        elif truth == MEAN and is_stacked:
            found.add((_OWN_MEANS, axis))
    return frozenset(found)


def of_operation(run: Run, operator: str, sides: tuple[Value, Value], site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of an operation outside all maps, and notes a scale that was averaged over the devices."""
    left, right = (of_kinds(labels_of(side), *_MOMENTS, CENTRED_BY_ALL) for side in sides)
    if not left and not right:
        return NONE
    if operator == "-" and (left or isinstance(sides[0], Const)):
        return NONE
    if operator == "-":
        return frozenset([(CENTRED_BY_ALL, axis) for kind, axis, *_ in right if kind == MEAN_OF_ALL])
    if operator in ("*", "/"):
        note_scaled(run, operator, sides, site, ctx)
    if operator in ("+", "**") and _is_number(sides[1]):
        return _variances(left)
    return _variances(right) if operator in ("+", "/") and _is_number(sides[0]) else NONE


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) or (isinstance(value, Data) and value.shape == () and not value.labels)


def _variances(labels: Collection[tuple[Any, ...]]) -> frozenset[Any]:
    return frozenset([label for label in labels if label[0] in (AVERAGED_VARIANCE, OWN_VARIANCE)])


def of_call(name: str, args: tuple[Arg, ...], found: Data) -> Data:
    """Returns the result of a function or method outside all maps, with the labels of a mean or variance.

    Args:
        name: the name of the function or method.
        args: its arguments; for a method, the object comes first.
        found: the result without the labels.
    """
    moments = of_kinds(labels_of(args[0].value), *_MOMENTS) if args else ()
    if not moments:
        return found
    short = name.rpartition(".")[2]
    kept: frozenset[Any] = NONE
    if short in _MOVE:
        kept = frozenset(moments)
    elif short in _BEND:
        kept = _variances(moments)
    elif short == "mean" and _is_over_devices(args):
        kept = frozenset([(_OF_ALL_ROWS[kind], *rest) for kind, *rest in moments if kind in _OF_ALL_ROWS])
    return replace(found, labels=found.labels | kept) if kept else found


def _is_over_devices(args: tuple[Arg, ...]) -> bool:
    axis = by_parameter(("a", "axis"), args).get("axis")
    return axis is None or axis.value in (Const(0), Const(None))


def of_item(array: Data) -> frozenset[Any]:
    """Returns the labels of an entry of a mean or variance, such as the copy on one device."""
    return frozenset(of_kinds(array.labels, MEAN_OF_ALL, AVERAGED_VARIANCE))
