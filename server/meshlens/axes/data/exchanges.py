"""Exchanges: two devices send each other a value with `ppermute`, and each decides whether to keep its own.

In replica exchange, both must decide alike, so they need the same random number: a value of which both keep their own
copy, or both take the other's, is still there once, but otherwise it is there twice, or lost.
Code in which a device takes a copy on purpose, such as migration between islands or imitation, does not weigh what it
receives with the parameters of both devices, such as their temperatures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.halos import direction_of
from meshlens.axes.data.noise import APART, DECIDED
from meshlens.axes.data.parts import OWN_INDEX
from meshlens.axes.domain.axis_sizes import pair_of
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import NONE, PASSED_ON, of_kinds, travelling
from meshlens.axes.domain.values import Arg, Data, Dict, Seq, Site, Value
from meshlens.axes.domain.variation import is_apart
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import RandomUse
from meshlens.axes.runs.run import Run

_OWN_KEY, _SENT, RECEIVED, _AGREED = "own-key", "sent", "received", "agreed"
_GAP, _SCALED, _WEIGHED = "gap", "scaled-here", "weighed"
_COMPARISONS = frozenset(
    f"jax.{module}.{name}"
    for module, names in (("numpy", "less less_equal greater greater_equal"), ("lax", "lt le gt ge"))
    for name in names.split()
)


def of_folding(number: Value) -> frozenset[Any]:
    """Returns the labels of a key into which the device's own index was folded: no two devices have the same key."""
    return frozenset([(_OWN_KEY, axis) for _, axis in of_kinds(labels_of(number), OWN_INDEX)])


def of_own_keys(keys: Value) -> frozenset[Any]:
    """Returns the labels of a device's part of an array of keys that is split over devices."""
    return frozenset([(_OWN_KEY, axis) for axis, along in variation_of(keys).axes if is_apart(along.truth)])


def received(result: Value, perm: Value, axis: str) -> Value:
    """Returns the result of a `ppermute`, with labels that say so."""
    if isinstance(result, Seq):
        return replace(result, items=tuple([received(item, perm, axis) for item in result.items]))
    if isinstance(result, Dict):
        return replace(result, items=tuple([(key, received(item, perm, axis)) for key, item in result.items]))
    if not isinstance(result, Data):
        return result
    of_others = [(_AGREED, own) for _, _, _, own in of_kinds(result.labels, DECIDED)]
    sent = [(_SENT, axis)] if _may_exchange(perm) else []
    return replace(result, labels=result.labels | {(RECEIVED, axis), *sent, *of_others})


def _may_exchange(perm: Value) -> bool:
    """Returns whether devices may send each other their values, and not in a circle."""
    if direction_of(perm) is not None:
        return False
    pairs = [pair_of(item) for item in perm.items] if isinstance(perm, Seq) and not perm.open else []
    known = {pair for pair in pairs if pair is not None}
    return len(known) < len(pairs) or all((to, start) in known for start, to in known)


def of_operation(operator: str, left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of a difference of two devices' numbers, and of a received value weighed by such a difference.

    If densities are compared instead, a received state is weighed by the device's own number, and the gain of the
    partner is added.
    """
    one, other = labels_of(left), labels_of(right)
    if operator == "-" and "index" in one and "index" in other:
        over = variation_of(right)
        apart = [axis for axis, along in variation_of(left).axes if is_apart(along.truth)]
        return frozenset([(_GAP, axis) for axis in apart if is_apart(over.over(axis).truth)])
    if operator not in ("*", "+") or PASSED_ON.isdisjoint(one | other):
        return NONE
    found: set[tuple[str, str]] = set()
    for mine, theirs, own in ((one, other, left), (other, one, right)):
        for _, axis in of_kinds(theirs, RECEIVED):
            if operator == "*" and ((RECEIVED, axis) in mine or (_GAP, axis) in mine):
                found.add((_WEIGHED, axis))
            elif operator == "*" and is_apart(variation_of(own).over(axis).truth):
                found.add((_SCALED, axis))
            elif operator == "+" and (_SCALED, axis) in mine and {(_SCALED, axis), (_SENT, axis)} <= theirs:
                found.add((_WEIGHED, axis))
    return frozenset(found)


def of_comparison(left: Value, right: Value) -> frozenset[Any]:
    """Returns the labels of a decision that each device takes with its own random number about a received value."""
    return frozenset(
        [
            (DECIDED, call, key, axis)
            for one, other in ((left, right), (right, left))
            for call, key, axis in _own_numbers(one)
            if {(RECEIVED, axis), (_WEIGHED, axis)} <= labels_of(other)
        ]
    )


def of_function(name: str, args: tuple[Arg, ...]) -> frozenset[Any]:
    """Returns the labels of such a decision if a function compares the numbers."""
    if name in _COMPARISONS and len(args) == 2:
        return of_comparison(args[0].value, args[1].value)
    return NONE


def of_chance(key: Arg, args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the labels of such a decision if it is drawn with a probability that depends on the received value."""
    own = labels_of(key.value)
    return frozenset(
        [
            (DECIDED, site, key.site, axis)
            for arg in args
            for _, axis in of_kinds(labels_of(arg.value), _WEIGHED)
            if (_OWN_KEY, axis) in own and (RECEIVED, axis) not in own and (RECEIVED, axis) in labels_of(arg.value)
        ]
    )


def _own_numbers(value: Value) -> list[tuple[Any, Any, str]]:
    """Returns the draws, with their keys and axes, if a value is computed only from a device's own random numbers."""
    labels = labels_of(value)
    return [
        (call, key, axis)
        for _, call, key, axis in of_kinds(labels, APART)
        if (_OWN_KEY, axis) in labels and (RECEIVED, axis) not in labels
    ]


def note_exchanged(run: Run, args: tuple[Arg, ...], ctx: Context) -> None:
    """Notes that such a decision selects from a device's own value and the one that it received for it."""
    if len(args) != 3:
        return
    test, one, other = [arg.value for arg in args]
    decided = labels_of(test)
    for _, call, key, axis in of_kinds(decided, DECIDED):
        if (_AGREED, axis) not in decided and (_is_for(one, other, axis) or _is_for(other, one, axis)):
            run.records.random_uses.append(RandomUse(call, key, decided, ctx, "exchanged"))


def _is_for(received: Value, own: Value, axis: str) -> bool:
    """Returns whether a value may be what a device received for its own value, and not for another one."""
    theirs, mine = labels_of(received), labels_of(own)
    if (_SENT, axis) not in theirs or (_SENT, axis) in mine or not travelling(mine) <= theirs:
        return False
    shapes = {shape_of(received), shape_of(own)} - {None}
    return len(shapes) < 2
