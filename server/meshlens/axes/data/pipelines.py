"""Pipelines: each device writes a value into an array and sends the same value on to the next device.

If every device writes its own value at the same place, a sum over the devices adds the values of all stages. Code that
wants those of the last stage must replace the others with zeros, which ends the label of the array. What a `scan`
stacks is such an array too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import HELD, NONE, STACKED, of_kinds
from meshlens.axes.domain.values import Arg, Data, Site, Value
from meshlens.axes.domain.variation import CHOICE, is_given
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_WRITERS = frozenset({"jax.lax.dynamic_update_index_in_dim", "jax.lax.dynamic_update_slice_in_dim"})
_OWN = frozenset({"index", "varying"})
_INJECTED, _OWN_PLACE = "injected", "own-place"
_CUTS = frozenset({"jax.lax.slice_in_dim", "jax.lax.dynamic_slice_in_dim", "jax.numpy.reshape"})
_MOST = 64


def written(run: Run, name: str, args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the labels of an array into which each device writes its own value, all at the same place.

    The values must depend on a choice between an input that all devices have and what arrives from another device;
    otherwise, each device may send on a state of its own, and the sum may be divided to average them.
    """
    if name == "jax.numpy.where" and len(args) == 3:
        return _chosen(*[arg.value for arg in args])
    if name in _CUTS and args:
        return NONE if any(map(_is_own, args[1:])) else part_of_held(args[0].value)
    if name not in _WRITERS or len(args) < 3 or any(map(_is_own, args[2:])):
        return NONE
    return _holding(run, args[1].value, site)


def part_of_held(array: Value) -> frozenset[Any]:
    """Returns the labels of a part of an array that is the same part on all devices, as any slice of Python is."""
    return frozenset(of_kinds(labels_of(array), HELD, STACKED))


def stacked(run: Run, result: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of the stacked results of a scan's steps if each step sends its result on."""
    axes = {axis for _, axis in of_kinds(labels_of(result), _INJECTED)}
    return frozenset([(STACKED, site, axis) for value, axis in run.sent if value is result and axis in axes])


def _chosen(condition: Value, left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of `where`; an array keeps its own if all devices choose alike, as by the number of a step."""
    held = of_kinds(labels_of(left) | labels_of(right), HELD, STACKED)
    if held and labels_of(condition).isdisjoint(_OWN):
        return frozenset(held)
    chosen = [axis for axis, along in variation_of(condition).axes if along.truth == CHOICE]
    sides = variation_of(left), variation_of(right)
    return frozenset([(_INJECTED, axis) for axis in chosen if any(is_given(one.over(axis).truth) for one in sides)])


def _is_own(arg: Arg) -> bool:
    return not labels_of(arg.value).isdisjoint(_OWN)


def at_own_place(array: Data, index: Value) -> Data:
    """Returns `array.at[index]`, labeled if the place depends on the device."""
    return replace(array, labels=array.labels | {_OWN_PLACE}) if not labels_of(index).isdisjoint(_OWN) else array


def set_at(run: Run, array: Data, args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the labels of `array.at[index].set(value)`."""
    return _holding(run, args[0].value, site) if args and _OWN_PLACE not in array.labels else NONE


def _holding(run: Run, value: Value, site: Site) -> frozenset[Any]:
    if type(value) is not Data or not of_kinds(value.labels, _INJECTED) or len(run.stored) >= _MOST:
        return NONE
    run.stored.append((value, site))
    return NONE | {(HELD, site)}


def note_sent_on(run: Run, value: Value, axis: str) -> None:
    """Notes a value that a `ppermute` sends to other devices."""
    if type(value) is Data and len(run.sent) < _MOST:
        run.sent.append((value, axis))


def note_summed(run: Run, labels: frozenset[Any], names: tuple[str, ...], site: Site, ctx: Context) -> None:
    """Notes a sum over the devices of an array that holds what every device sends on."""
    for _, place, axis in of_kinds(labels, STACKED):
        if axis in names:
            run.records.gradient_uses.append(GradientUse("stacked-stages-summed", place, site, ctx, axis))
    for _, place in of_kinds(labels, HELD):
        held = [value for value, where in run.stored if where == place]
        for axis in names:
            injected = [value for value in held if (_INJECTED, axis) in labels_of(value)]
            if any(value is sent for value in injected for sent, along in run.sent if along == axis):
                run.records.gradient_uses.append(GradientUse("stages-summed", site, place, ctx, axis))
