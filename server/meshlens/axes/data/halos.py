"""Halo exchange: each device joins its part of an array with the adjacent edges of its neighbors' parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.axis_sizes import FOR_EXAMPLE, PAIRS_FOR_EXAMPLE, pair_of
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.domain.variation import ZERO
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import BinaryOperation, Constant, Expression, Slice, TupleDisplay, UnaryOperation

_EDGE, _HALO = "edge", "halo"
_INNER, _END, _END_SET = "inner-part", "at-end", "end-set"
"""The kinds of labels of a part without its first and last rows, of `array.at[key]` for the first or last rows, and of
an array whose first or last rows were set to a halo."""
GHOST_SENT = "ghost-sent"
"""The kind of the record of an edge that consists of the rows that a halo replaces."""
HALO_PAST_GAP = "halo-past-gap"
"""The kind of the record of rows that are sent although others lie between them and the edge."""
_JOIN = frozenset({"jax.numpy.concatenate", "jax.lax.concatenate"})
_SLICE = "jax.lax.slice_in_dim"
_AT_THE_FRONT, _AT_THE_BACK = (1, "last"), (-1, "first")
"""For the halo at each end: the direction in which it is sent, and the edge of the sender that it copies."""
_NEAR: dict[str, Edge] = {"first": "after-first", "last": "before-last"}
"""For each edge, rows that are close to it but leave out those at the very end."""

Edge = Literal["first", "last", "after-first", "before-last"]


def edge_of(array: Data, key: Expression, site: Site) -> frozenset[Any]:
    """Returns the label of `array[key]`, which is at this site, if it takes or leaves out rows at an end."""
    parts = key.items if isinstance(key, TupleDisplay) else (key,)
    edges = [edge for part in parts if (edge := _edge(part)) is not None]
    if len(edges) == 1:
        return frozenset([(_EDGE, edges[0], site, array.shape)])
    is_part = array.over.rest.truth != ZERO and not edges and any(map(_is_inner, parts))
    return frozenset([(_INNER, array.shape)]) if is_part else NONE


def at_end(array: Data, key: Expression) -> Data:
    """Returns `array.at[key]`, labeled if it selects the first or last rows."""
    edge = _edge(key)
    return replace(array, labels=array.labels | {(_END, edge)}) if edge is not None else array


def set_end(run: Run, array: Data, args: tuple[Arg, ...], ctx: Context) -> frozenset[Any]:
    """Notes that both ends of an array are set to halos although an array of its shape sent these same ends.

    An array of zeros is another one.

    Args:
        run: the run.
        array: the array at the rows that are set.
        args: the arguments of `set`.
        ctx: the context.
    """
    ends, halos = of_kinds(array.labels, _END), of_kinds(labels_of(args[0].value), _HALO) if len(args) == 1 else ()
    if len(ends) != 1 or len(halos) != 1:
        return NONE
    (_, end), (_, axis, direction, edge, site, whole) = ends[0], halos[0]
    right = _AT_THE_FRONT if end == "first" else _AT_THE_BACK
    if array.over.rest.truth == ZERO or (direction, edge) != right or not _are_same(whole, array.shape):
        return NONE
    for _, other, sent in of_kinds(array.labels, _END_SET):
        if other != end:
            for place in (sent, site):
                run.records.gradient_uses.append(GradientUse(GHOST_SENT, place, None, ctx, axis))
    return frozenset([(_END_SET, end, site)])


def _are_same(one: Sizes | None, other: Sizes | None) -> bool:
    """Returns whether two arrays have the same known shape, so it is not the case that only one has a border."""
    return one is not None and one == other and None not in one


def _note_gaps(run: Run, front: Value | None, part: Value, back: Value | None, ctx: Context) -> None:
    """Notes rows that are joined to an end of the part that they were cut from on another device, past a gap.

    If only one of two halos has a gap, the part need not be known to be the one that they were cut from.
    """
    shape, is_between = shape_of(part), front is not None and back is not None
    for halo, (direction, edge) in ((front, _AT_THE_FRONT), (back, _AT_THE_BACK)):
        for _, axis, to, taken, site, whole in of_kinds(labels_of(halo), _HALO) if halo is not None else ():
            if (to, taken) == (direction, _NEAR[edge]) and (is_between or _are_same(whole, shape)):
                run.records.gradient_uses.append(GradientUse(HALO_PAST_GAP, site, None, ctx, axis))


def _is_inner(key: Expression) -> bool:
    """Returns whether a slice leaves out rows at both ends, as in `1:-1`."""
    if not isinstance(key, Slice) or key.step is not None or key.lower is None or key.upper is None:
        return False
    begins = isinstance(key.lower, Constant) and key.lower.value in (0, None)
    return not begins and not _is_negative(key.lower) and _is_negative(key.upper)


def _edge(key: Expression) -> Edge | None:
    if not isinstance(key, Slice) or key.step is not None:
        return None
    begins = key.lower is None or (isinstance(key.lower, Constant) and key.lower.value == 0)
    if begins and key.upper is not None:
        return "first" if not _is_negative(key.upper) else None
    if key.lower is None or begins:
        return None
    if key.upper is None:
        return "last" if _is_negative(key.lower) else None
    if _is_negative(key.lower) and _is_negative(key.upper):
        return "before-last"
    is_counted = isinstance(key.lower, Constant) and isinstance(key.upper, Constant)
    return "after-first" if is_counted and not _is_negative(key.lower) and not _is_negative(key.upper) else None


def _edge_of_slice(args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the label of `slice_in_dim(x, start, stop)`; a slice with computed bounds counts as the last rows."""
    array, start, stop = args[0].value, args[1].value, args[2].value
    shape = shape_of(array)
    if start == Const(0):
        return frozenset([(_EDGE, "first", site, shape)])
    if isinstance(start, Const) != isinstance(stop, Const):
        return NONE
    if isinstance(stop, Const) and stop.value not in (shape or ()):
        return frozenset([(_INNER, shape)])
    return frozenset([(_EDGE, "last", site, shape)])


def _is_negative(node: Expression) -> bool:
    if isinstance(node, Constant):
        return isinstance(node.value, int) and node.value < 0
    if isinstance(node, BinaryOperation) and node.operator in ("-", "*"):
        return _is_negative(node.left)
    return isinstance(node, UnaryOperation) and node.operator == "-"


def sent_edge(value: Value, perm: Value, result: Data, axis: str) -> Data:
    """Returns the result of a `ppermute` with labels if it sends an edge, as to the next or previous device.

    Args:
        value: the value that is sent.
        perm: the permutation.
        result: the result without the label.
        axis: the axis.
    """
    edges = of_kinds(labels_of(value), _EDGE)
    if not edges:
        return result
    # An edge alone does not tell a device what all others have, as a whole part that is sent around a ring does.
    labels = result.labels if "opaque" in labels_of(value) else result.labels - {"opaque"} | {"with-halo"}
    direction = direction_of(perm) if len(edges) == 1 else None
    halo = NONE if direction is None else {(_HALO, axis, direction, *edges[0][1:])}
    return replace(result, labels=labels | halo)


def direction_of(perm: Value) -> int | None:
    """Returns 1 if each device sends to the next one, -1 if to the previous one; None for anything else."""
    if not isinstance(perm, Seq) or (perm.open and perm.kind != PAIRS_FOR_EXAMPLE):
        return None
    pairs = [pair for item in perm.items if (pair := pair_of(item)) is not None]
    if len(pairs) != len(perm.items):
        return None
    size = FOR_EXAMPLE if perm.kind == PAIRS_FOR_EXAMPLE else max([0, *map(max, pairs)]) + 1
    steps = {(to - start) % size for start, to in pairs}
    return {frozenset({1}): 1, frozenset({size - 1}): -1}.get(frozenset(steps)) if size > 2 else None


def follow_edges(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> frozenset[Any]:
    """Notes halos that are joined to the wrong end of a part; returns the label of an edge that a slice takes."""
    if name == _SLICE and len(args) > 2:
        return _edge_of_slice(args, site)
    parts = args[0].value if name in _JOIN and args else None
    if not isinstance(parts, Seq) or parts.open:
        return NONE
    halos = [next(iter(of_kinds(labels_of(part), _HALO)), None) for part in parts.items]
    inner = of_kinds(labels_of(parts.items[1]), _INNER) if len(halos) == 3 else ()
    if len(inner) == 1:
        for halo, right in ((halos[0], _AT_THE_FRONT), (halos[2], _AT_THE_BACK)):
            if halo is not None and halo[2:4] == right and _are_same(halo[5], inner[0][1]):
                run.records.gradient_uses.append(GradientUse(GHOST_SENT, halo[4], None, ctx, halo[1]))
        return NONE
    if len(halos) == 2:
        _note_gaps(run, parts.items[0], parts.items[1], None, ctx)
        _note_gaps(run, None, parts.items[0], parts.items[1], ctx)
        return NONE
    if len(halos) != 3 or halos[0] is None or halos[1] is not None or halos[2] is None:
        return NONE
    near = [halo for halo in (halos[0], halos[2]) if halo[3] in _NEAR.values()]
    if len(near) == 1:
        front, part, back = parts.items
        _note_gaps(run, front, part, back, ctx)
    if near:
        # Parts that share the row between them skip it on both sides.
        return NONE
    ends = {halos[0][3:5], halos[2][3:5]}
    # If one edge is sent to both neighbors, it may not be a halo but the best rows of a sorted population.
    for halo, right, kind in ((halos[0], _AT_THE_FRONT, "halo-at-front"), (halos[2], _AT_THE_BACK, "halo-at-back")):
        if halo[2:4] != right and len(ends) == 2:
            run.records.gradient_uses.append(GradientUse(kind, site, None, ctx, halo[1]))
            return NONE
    return NONE
