"""Halo exchange: each device joins its part of an array with the adjacent edges of its neighbors' parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.axis_sizes import FOR_EXAMPLE, PAIRS_FOR_EXAMPLE, pair_of
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Constant, Expression, Slice, TupleDisplay, UnaryOperation

_EDGE, _HALO = "edge", "halo"
_JOIN = frozenset({"jax.numpy.concatenate", "jax.lax.concatenate"})
_SLICE = "jax.lax.slice_in_dim"
_AT_THE_FRONT, _AT_THE_BACK = (1, "last"), (-1, "first")
"""For the halo at each end: the direction in which it is sent, and the edge of the sender that it copies."""

Edge = Literal["first", "last"]


def edge_of(key: Expression, site: Site) -> frozenset[Any]:
    """Returns the label of `x[key]`, which is at this site, if it takes the first or last rows along one dimension."""
    parts = key.items if isinstance(key, TupleDisplay) else (key,)
    edges = [edge for part in parts if (edge := _edge(part)) is not None]
    return frozenset([(_EDGE, edges[0], site)]) if len(edges) == 1 else NONE


def _edge(key: Expression) -> Edge | None:
    if not isinstance(key, Slice) or key.step is not None:
        return None
    begins = key.lower is None or (isinstance(key.lower, Constant) and key.lower.value == 0)
    if begins and key.upper is not None:
        return "first" if not _is_negative(key.upper) else None
    return "last" if key.lower is not None and key.upper is None and _is_negative(key.lower) else None


def _edge_of_slice(args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the label of `slice_in_dim(x, start, stop)`; a slice with computed bounds counts as the last rows."""
    array, start, stop = args[0].value, args[1].value, args[2].value
    if start == Const(0):
        return frozenset([(_EDGE, "first", site)])
    if isinstance(start, Const) != isinstance(stop, Const):
        return NONE
    is_last = not isinstance(stop, Const) or stop.value in (shape_of(array) or ())
    return frozenset([(_EDGE, "last", site)]) if is_last else NONE


def _is_negative(node: Expression) -> bool:
    if isinstance(node, Constant):
        return isinstance(node.value, int) and node.value < 0
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
    if len(halos) != 3 or halos[0] is None or halos[1] is not None or halos[2] is None:
        return NONE
    ends = {halos[0][3:], halos[2][3:]}
    # If one edge is sent to both neighbors, it may not be a halo but the best rows of a sorted population.
    for halo, right, kind in ((halos[0], _AT_THE_FRONT, "halo-at-front"), (halos[2], _AT_THE_BACK, "halo-at-back")):
        if halo[2:4] != right and len(ends) == 2:
            run.records.gradient_uses.append(GradientUse(kind, site, None, ctx, halo[1]))
            return NONE
    return NONE
