"""Rings: loops in which blocks move from device to device, and each device computes whose block it holds.

If every step sends the blocks to the next device, then after `step` steps, a device holds the block of the device that
is `step` places before it, so `axis_index - step` is the owner.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from meshlens.axes.data.arrays import count_of, shape_of
from meshlens.axes.data.exchanges import RECEIVED
from meshlens.axes.data.halos import direction_of
from meshlens.axes.data.parts import OWN_INDEX
from meshlens.axes.domain.axis_sizes import PAIRS_FOR_EXAMPLE, SOME_COUNT, size_along
from meshlens.axes.domain.joining import labels_of, leaves, variation_of
from meshlens.axes.domain.labels import COUNT, FROM_ZERO, NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import is_apart
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_COUNTER, _PLACE, _OWNER = "counter", "place-in-ring", "owner"
_MOST_HOPS = 256
_REMAINDERS = frozenset({"%", "jax.numpy.mod", "jax.numpy.remainder", "jax.lax.rem"})


def counter(loop: Site) -> frozenset[Any]:
    """Returns the label of a loop's counter; the loop is identified by the place where its body is passed."""
    return frozenset([(_COUNTER, loop)])


def counted(item: Value, arrays: Value, loop: Site) -> Value:
    """Returns the input of one step of a `scan`, with a label if it is a counter, that is, an entry of `arange`."""
    if isinstance(item, Seq) and isinstance(arrays, Seq) and len(item.items) == len(arrays.items):
        pairs = zip(item.items, arrays.items, strict=True)
        return Seq(item.kind, tuple([counted(one, array, loop) for one, array in pairs]), item.open)
    if not isinstance(item, Data) or FROM_ZERO not in labels_of(arrays):
        return item
    return replace(item, labels=item.labels | counter(loop))


def of_sum(operator: str, left: Value, right: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of `left + right` or `left - right` if it computes a block's owner, or is a step towards it.

    A constant or the number of devices may be added at any point, because it shifts all owners equally.
    """
    for one, other in ((left, right), (right, left)) if operator == "+" else ((left, right),):
        labels = labels_of(one)
        places = {axis: 0 for _, axis in of_kinds(labels, OWN_INDEX)}
        places |= {axis: offset for _, axis, offset, _ in of_kinds(labels, _PLACE)}
        if _is_fixed(other):
            added = other.value if isinstance(other, Const) and type(other.value) is int else 0
            added = added if operator == "+" else -added
            moved = [(_PLACE, axis, offset + added, site) for axis, offset in places.items()]
            return frozenset([*of_kinds(labels, _COUNTER, _OWNER), *moved])
        counters = of_kinds(labels_of(other), _COUNTER)
        if len(places) == len(counters) == 1:
            return frozenset([(_OWNER, *places, operator, counters[0][1], site)])
    return NONE


def note_owner(run: Run, name: str, args: tuple[Arg, ...], ctx: Context) -> None:
    """Notes the owner of a block, computed from a device's index and a loop's counter modulo the number of devices."""
    if name not in _REMAINDERS or not args:
        return
    for _, axis, operator, loop, site in of_kinds(labels_of(args[0].value), _OWNER):
        kind = "owner-ahead" if operator == "+" else "owner-before"
        run.records.gradient_uses.append(GradientUse(kind, site, loop, ctx, axis))
    for _, axis, offset, site in of_kinds(labels_of(args[0].value), _PLACE) if ctx.loop else ():
        run.records.gradient_uses.append(GradientUse("place-in-ring", site, None, ctx, axis, offset))


def note_move(run: Run, perm: Value, axis: str, site: Site, ctx: Context) -> None:
    """Notes that blocks move to the next or to the previous device."""
    direction = direction_of(perm)
    if direction is not None:
        kind = "moved-on" if direction == 1 else "moved-back"
        run.records.gradient_uses.append(GradientUse(kind, site, None, ctx, axis))


class Turns(NamedTuple):
    """A loop in which arrays may move.

    Attributes:
        start: the carry at the start.
        stepped: the carry after one step.
        steps: the number of steps, or the array with an entry for each step.
        body: the place that passes the body.
        hops: the arrays that move by one device in one step, with the axis.
    """

    start: Value
    stepped: Value
    steps: Arg
    body: Site
    hops: list[tuple[Value, str]]


def note_hop(run: Run, value: Value, perm: Value, axis: str, ctx: Context) -> None:
    """Notes the arrays that a `ppermute` sends once around the ring of all devices, if it is repeated for each."""
    if len(run.hops) >= _MOST_HOPS or direction_of(perm) is None or not isinstance(perm, Seq):
        return
    if perm.kind == PAIRS_FOR_EXAMPLE or len(perm.items) == size_along(ctx.env, axis):
        run.hops += [(sent, axis) for sent in leaves(value)]


def note_turns(run: Run, turns: Turns, ctx: Context) -> None:
    """Notes a loop after which blocks are back where they began, if each step adds something computed from a moved one.

    The sum must begin with something computed from the device's own rows; whether that is the same function of its own
    block is for the rule to find out.
    """
    places = list(zip(leaves(turns.start), leaves(turns.stepped), strict=False))
    axes = {axis for _, axis in turns.hops}
    if len(axes) != 1 or turns.steps.site is None:
        return
    (axis,) = axes
    received = (RECEIVED, axis)
    moved = [before for before, after in places if received in labels_of(after) and _is_in(before, turns.hops)]
    if len(moved) != len(turns.hops) or any(received in labels_of(block) for block in moved):
        return
    if not _is_size(turns.steps.value, axis, ctx):
        return
    for before, after in places:
        labels = labels_of(after)
        is_sum = received in labels and "index" not in labels and received not in labels_of(before)
        if is_sum and is_apart(variation_of(before).over(axis).truth) and not _is_in(before, turns.hops):
            run.records.gradient_uses.append(GradientUse("ring-closed", turns.steps.site, turns.body, ctx, axis))
            return


def _is_in(value: Value, hops: list[tuple[Value, str]]) -> bool:
    return any(sent is value for sent, _ in hops)


def _is_size(steps: Value, axis: str, ctx: Context) -> bool:
    """Returns whether a number of steps is certainly the size of an axis."""
    rows = shape_of(steps)
    count = rows[0] if rows else count_of(steps)
    if count is not None:
        return count == size_along(ctx.env, axis)
    labels = labels_of(steps)
    return SOME_COUNT in labels and of_kinds(labels, "size-of") == (("size-of", axis),)


def _is_fixed(value: Value) -> bool:
    """Returns whether a value is a constant or the number of devices along an axis."""
    labels = labels_of(value)
    return isinstance(value, Const) or SOME_COUNT in labels or bool(of_kinds(labels, COUNT))
