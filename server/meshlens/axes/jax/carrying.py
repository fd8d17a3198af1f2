"""The values that loops carry (`scan`, `fori_loop`, `while_loop`), and those that branches return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.axis_sizes import size_along
from meshlens.axes.domain.joining import join, labels_of, variation_of
from meshlens.axes.domain.labels import HELD, KEPT_ALIKE, KEPT_APART, PARAMETERS, STATE_OF, SUM_HERE, of_kinds
from meshlens.axes.domain.values import UNKNOWN, Const, Data, Dict, Instance, Seq, Site, Value
from meshlens.axes.domain.variation import (
    CHOICE,
    INVARIANT,
    NOT_KNOWN,
    UNTOLD,
    VARYING,
    Along,
    Variation,
    either,
    is_apart,
    is_different,
    is_same,
    of,
)
from meshlens.axes.python.outside import axes_of, device_map
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import AxisUse, GradientUse, literal_name
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of, with_fields
from meshlens.jaxapi.collectives import WAITING

_CHANGES = {(INVARIANT, VARYING): "carried", (VARYING, INVARIANT): "carried-reduced"}
"""The kind of record for the types of a carry at the start and after a step."""
_OWN = frozenset({"data", "index"})
_LARGE = 300


def carried(run: Run, start: Value, stepped: Value, site: Site) -> Value:
    """Returns a loop's carry after the loop, given its value at the start and after one step."""
    if isinstance(start, Seq) and isinstance(stepped, Seq) and _are_alike(start, stepped):
        return Seq(start.kind, tuple(carried(run, a, b, site) for a, b in zip(start.items, stepped.items, strict=True)))
    if isinstance(start, Dict) and isinstance(stepped, Dict) and _are_alike(start, stepped):
        pairs = zip(start.items, stepped.items, strict=True)
        return Dict(tuple((key, carried(run, one, other, site)) for (key, one), (_, other) in pairs))
    if isinstance(start, Instance) and isinstance(stepped, Instance) and start.cls == stepped.cls:
        before, after = fields_of(run, start), fields_of(run, stepped)
        if before and after and before.keys() == after.keys():
            return with_fields(run, start, lambda name, held: carried(run, held, after[name], site), site)
    if isinstance(start, (Seq, Dict)) and not start.open and type(stepped) is Data:
        # A carry keeps its structure.
        return carried(run, start, in_structure(start, stepped), site)
    is_number = isinstance(start, Const) and isinstance(start.value, (int, float)) and type(stepped) is Data
    both = stepped if is_number else join(start, stepped)
    if isinstance(both, Data):
        held = both.labels.union(of_kinds(labels_of(stepped), HELD, KEPT_APART, KEPT_ALIKE))
        shape = _shape_of_either(start, stepped)
        over = after_steps(variation_of(start), variation_of(stepped))
        return replace(both, labels=held, shape=shape, array=both.array or shape is not None, over=over)
    return both


def in_structure(tree: Value, one: Data) -> Value:
    """Returns a tree with the structure and shapes of another one, in which one value describes all arrays."""
    if isinstance(tree, (Seq, Dict)) and tree.weight < _LARGE and not tree.open:
        if isinstance(tree, Dict):
            return Dict(tuple([(key, in_structure(held, one)) for key, held in tree.items]))
        return Seq(tree.kind, tuple([in_structure(held, one) for held in tree.items]))
    shape, known = shape_of(tree), of_kinds(labels_of(tree), PARAMETERS, STATE_OF) if type(tree) is Data else ()
    if shape is None and not known:
        return one
    return replace(one, labels=one.labels.union(known), shape=shape, array=one.array or shape is not None)


def branches_joined(returned: Sequence[Value]) -> Value:
    """Returns the result of a `cond` or `switch`, whose branches return arrays of the same shapes."""
    return reduce(_either, returned) if returned else UNKNOWN


def _either(one: Value, other: Value) -> Value:
    if isinstance(one, Seq) and isinstance(other, Seq) and _are_alike(one, other):
        return Seq(one.kind, tuple([_either(a, b) for a, b in zip(one.items, other.items, strict=True)]))
    if isinstance(one, Dict) and isinstance(other, Dict) and _are_alike(one, other):
        pairs = zip(one.items, other.items, strict=True)
        return Dict(tuple([(key, _either(held, held_by_other)) for (key, held), (_, held_by_other) in pairs]))
    both, shape = join(one, other), _shape_of_either(one, other)
    return replace(both, shape=shape, array=True) if type(both) is Data and shape is not None else both


def _shape_of_either(one: Value, other: Value) -> Sizes | None:
    """Returns the common shape of two arrays that must match; None if neither is known, or if their ranks differ."""
    first, second = shape_of(one), shape_of(other)
    if first is None or second is None:
        return first if first is not None else second
    if len(first) != len(second):
        return None
    pairs = [{size, same} - {None} for size, same in zip(first, second, strict=True)]
    return tuple([sizes.pop() if len(sizes) == 1 else None for sizes in pairs])


def note_carried(run: Run, start: Value, stepped: Value, site: Site, ctx: Context) -> None:
    """Notes a carry that is the same on all devices, or has JAX's type for that, only before or only after a step."""
    binder = device_map(ctx)
    if binder is None:
        return
    for first, last in _paired(run, start, stepped):
        before, after = variation_of(first), variation_of(last)
        reduced = {axis for _, axis, _ in of_kinds(labels_of(first), "over") if is_same(before.over(axis).truth)}
        for axis in axes_of(binder):
            sums = of_kinds(labels_of(last), SUM_HERE) if axis in reduced else ()
            if is_different(after.over(axis).truth):
                run.records.gradient_uses.extend(
                    [GradientUse("carried-sum", place, site, ctx, axis) for _, place in sums]
                )
            if not binder.checked:
                continue
            kind = _CHANGES.get((before.over(axis).typed, after.over(axis).typed))
            if kind is not None:
                run.records.gradient_uses.append(GradientUse(kind, site, None, ctx, axis))


def note_branches(run: Run, returned: Sequence[Value], branches: Sequence[Site], ctx: Context) -> None:
    """Notes each branch that returns a value that is not varying, where another branch returns one that is.

    In a checked map, JAX requires that all branches of a `cond` or `switch` return the same types.

    Args:
        run: the run.
        returned: what each branch returns.
        branches: the site of each branch.
        ctx: the context of the call.
    """
    binder = device_map(ctx)
    if binder is None or not binder.checked:
        return
    for place, site in enumerate(branches[1:], 1):
        for one, another in _paired(run, returned[0], returned[place]):
            first, own = variation_of(one), variation_of(another)
            for axis in axes_of(binder):
                types = first.over(axis).typed, own.over(axis).typed
                if types in _CHANGES:
                    marked, other = (branches[0], site) if types[0] == INVARIANT else (site, branches[0])
                    run.records.gradient_uses.append(GradientUse("branch-alike", marked, other, ctx, axis))


def _paired(run: Run, one: Value, other: Value) -> Iterator[tuple[Value, Value]]:
    """Yields the arrays in two trees, pair by pair, as far as the trees have the same structure."""
    if isinstance(one, (Seq, Dict)) and isinstance(other, (Seq, Dict)):
        if _are_alike(one, other):
            for held, held_by_other in zip(_entries(one), _entries(other), strict=True):
                yield from _paired(run, held, held_by_other)
    elif isinstance(one, Instance) and isinstance(other, Instance):
        fields, of_other = fields_of(run, one) or {}, fields_of(run, other) or {}
        if one.cls == other.cls and fields.keys() == of_other.keys():
            for name, value in fields.items():
                yield from _paired(run, value, of_other[name])
    else:
        yield one, other


def note_left(run: Run, test: Value, used: Sequence[AxisUse], site: Site) -> None:
    """Notes each collective of a `while_loop` whose devices may leave the loop at different steps.

    Args:
        run: the run.
        test: what the loop's condition returns.
        used: the axes that one step and its condition use.
        site: the condition.
    """
    for use in used:
        axis = literal_name(use.name)
        if axis is not None and _waits(use) and _is_apart(test, axis) and size_along(use.context.env, axis) != 1:
            run.records.gradient_uses.append(GradientUse("left-apart", site, use.call, use.context, axis))


def _waits(use: AxisUse) -> bool:
    """Returns whether a step certainly waits for all devices along the axis; the sum of a number is a constant."""
    given = dict(use.arguments)
    if use.context.conditional or use.kind not in WAITING or "axis_index_groups" in given:
        return False
    return "x" not in given or not isinstance(given["x"].value, Const)


def _is_apart(test: Value, axis: str) -> bool:
    """Returns whether a condition differs between devices, and no device knows the values of all others."""
    along, labels = variation_of(test).over(axis), labels_of(test)
    if along.truth == CHOICE:
        return True
    is_own = along.typed == VARYING and not is_same(along.truth) and "opaque" not in labels
    return is_own and not labels.isdisjoint(_OWN)


def _entries(value: Seq | Dict) -> list[Value]:
    return [item[1] if isinstance(item, tuple) else item for item in value.items]


def _are_alike(one: Seq | Dict, other: Seq | Dict) -> bool:
    """Returns whether two containers have the same kind and the same keys or length, with no unknown entries."""
    if one.open or other.open or len(one.items) != len(other.items):
        return False
    if isinstance(one, Dict) and isinstance(other, Dict):
        return [key for key, _ in one.items] == [key for key, _ in other.items]
    return isinstance(one, Seq) and isinstance(other, Seq) and one.kind == other.kind


def after_steps(start: Variation, stepped: Variation) -> Variation:
    """Returns the variation of a carry after the last step.

    A carry that differs after the first step also differs after the others; one that is unchanged stays unchanged.
    """
    axes = {name for name, _ in (*start.axes, *stepped.axes)}
    rest = start.rest if start.rest == stepped.rest else NOT_KNOWN
    return of([(axis, after_step(start.over(axis), stepped.over(axis))) for axis in axes], rest)


def after_step(start: Along, stepped: Along) -> Along:
    """Returns what is known about a carry over one axis after the last step."""
    typed = stepped.typed if start.typed == stepped.typed else UNTOLD
    if is_apart(stepped.truth) and (is_apart(start.truth) or is_same(start.truth)):
        return Along(stepped.truth, typed)
    return Along(either(start.truth, stepped.truth), typed)
