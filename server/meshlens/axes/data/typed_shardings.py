"""The sharding that is part of an array's type, over explicit mesh axes.

JAX derives the sharding of each result from those of the operands, and raises an error if it cannot.
These rules were observed in JAX 0.7.2, 0.9.0, 0.9.2 and 0.10.2, and those of functions that make, join and turn arrays
in 0.8.1, 0.9.0, 0.9.2, 0.10.0 and 0.10.2. They agree, except where `_SINCE` says that a later version refuses more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from meshlens.axes.data.arrays import Sizes, is_unplaced, shape_of
from meshlens.axes.data.contractions import einsum_terms
from meshlens.axes.data.shapes import BROADCAST, REDUCTIONS, SAME_SHAPE, axes_reduced
from meshlens.axes.domain.labels import TYPED
from meshlens.axes.domain.specs import sharding_parts
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Constant, Expression, Slice, TupleDisplay, UnaryOperation
from meshlens.jaxapi.changes import Version
from meshlens.jaxapi.history import holds
from meshlens.jaxapi.meshes import OUT_SHARDING

COMBINES = "sharded "
"""The prefix of the name under which an operation on arrays with explicit shardings is recorded, as in "sharded @".

The recorded result is a pair: why JAX raises an error, in words (empty if it does not), and the resulting array, or the
array that an explicit result sharding would give.
"""

Entry = tuple[str, ...]
"""The axes that split one dimension; empty if it is not split."""

_OPERATORS = frozenset("+ - * / // % ** & | ^ < <= > >= == !=".split())
_PRODUCTS = frozenset({"@", "jax.numpy.matmul", "jax.numpy.dot"})
_KEEP = SAME_SHAPE - frozenset("flip fliplr flipud roll sort tril triu".split())
_EINSUM, _SCAN = "jax.numpy.einsum", "jax.lax.scan"
_DEEPEST = 6
_LARGE = 500
_MOST_PARTS = 64


class Sharding(NamedTuple):
    """The sharding of an array.

    Attributes:
        mesh: the call that made the mesh; None if the array is not placed on one.
        entries: how each dimension is split; None for a dimension if unknown.
    """

    mesh: Site | None
    entries: tuple[Entry | None, ...]


class Combined(NamedTuple):
    """The sharding that JAX gives a result, or the reason for its error.

    Attributes:
        entries: the entries of the result; None if unknown.
        fault: why JAX raises an error, in words; empty if it does not.
    """

    entries: tuple[Entry | None, ...] | None
    fault: str = ""


def sharding_of(value: Value) -> Sharding | None:
    """Returns the sharding of an array of known rank; None if it is unknown."""
    if not isinstance(value, Data):
        return Sharding(None, ()) if isinstance(value, Const) and not isinstance(value.value, str) else None
    rank = len(value.shape) if value.shape is not None else None
    found = [label for label in value.labels if isinstance(label, tuple) and label[0] == TYPED]
    if len(found) == 1:
        _, mesh, entries = found[0]
        padded = entries + ((),) * (rank - len(entries) if rank is not None else 0)
        return Sharding(mesh, padded) if rank is None or rank == len(padded) else None
    return Sharding(None, ((),) * rank) if rank is not None and is_unplaced(value) else None


def _parts(container: Seq | Dict) -> list[Value]:
    return [item[1] if isinstance(item, tuple) else item for item in container.items[:_MOST_PARTS]]


def is_typed(value: Value, depth: int = 0) -> bool:
    """Returns whether a value is or contains an array whose type has a sharding."""
    if isinstance(value, Data):
        return any(isinstance(label, tuple) and label[0] == TYPED for label in value.labels)
    if isinstance(value, (Seq, Dict)) and depth < _DEEPEST and value.weight < _LARGE:
        return any(is_typed(part, depth + 1) for part in _parts(value))
    return False


def without_sharding(value: Data) -> Data:
    """Returns the array with an unknown sharding."""
    labels = frozenset([label for label in value.labels if not (isinstance(label, tuple) and label[0] == TYPED)])
    return replace(value, labels=labels) if len(labels) < len(value.labels) else value


def placed(value: Value, target: Value, mesh: Value | None, depth: int = 0) -> Value:
    """Returns a tree with its arrays placed as `device_put` or `reshard` would place them.

    Args:
        value: an array or a tree of arrays.
        target: a sharding or spec for all, or a tree of these.
        mesh: the mesh to which a spec refers.
        depth: the number of containers around the value.
    """
    if depth > _DEEPEST:
        return value
    if isinstance(value, Data):
        own, spec = (mesh, target) if isinstance(target, Spec) else sharding_parts(target)
        entries = _entries(own, spec) if isinstance(own, Mesh) and isinstance(spec, Spec) else None
        if entries is None or not isinstance(own, Mesh):
            return without_sharding(value)
        return _labelled(value, own.site, entries)
    if isinstance(value, Seq):
        targets = target.items if isinstance(target, Seq) and len(target.items) == len(value.items) else ()
        pairs = zip(value.items, targets or (target,) * len(value.items), strict=True)
        return replace(value, items=tuple([placed(item, one, mesh, depth + 1) for item, one in pairs]))
    if isinstance(value, Dict):
        known = dict(target.items) if isinstance(target, Dict) else {}
        found = [(key, placed(item, known.get(key, target), mesh, depth + 1)) for key, item in value.items]
        return replace(value, items=tuple(found))
    return value


def anyhow(value: Value) -> Value:
    """Returns a tree in which the sharding of every array is unknown."""
    return placed(value, UNKNOWN, None) if is_typed(value) else value


def with_sharding(run: Run, name: str, args: tuple[Arg, ...], value: Data, site: Site, ctx: Context) -> Data:
    """Returns the result of a function or operator with its sharding, and records a combination of shardings.

    Args:
        run: the run.
        name: the operator, or the canonical name of the function.
        args: its arguments.
        value: the result without the sharding.
        site: the place of the call or operation.
        ctx: the context.
    """
    if ctx.env.maps or not any(is_typed(arg.value) for arg in args):
        return value
    found = combined(name, args)
    if found is None or (found.fault and not _refuses(name, run.world.jax_version_of(site.path))):
        return value
    mesh = next((one for arg in args if (one := mesh_of(arg.value)) is not None), None)
    entries = found.entries if mesh is not None else None
    result = _labelled(_of_full_rank(value, entries), mesh, entries) if entries is not None else value
    if len([arg for arg in args if arg.label is None]) > 1 or name.rpartition(".")[2] in _SPECIAL:
        _note(run, name, args, _outcome(found.fault, result), site, ctx)
    return result


def _refuses(name: str, version: Version) -> bool:
    """Returns whether a version of JAX refuses what the latest refuses for a function or operator."""
    return name not in _SINCE or holds(_SINCE[name], version)


def note_scanned(run: Run, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Records a `scan` over arrays whose types have shardings."""
    if not ctx.env.maps and any(is_typed(arg.value) for arg in args):
        _note(run, _SCAN, args, _outcome(_scanned(args)), site, ctx)


def _note(run: Run, name: str, args: tuple[Arg, ...], outcome: Seq, site: Site, ctx: Context) -> None:
    mesh = run.ambient[-1] if run.ambient else None
    run.records.calls.append(ApiCall(COMBINES + name, site, site, args, outcome, ctx, False, run.api_guard > 0, mesh))


def _outcome(fault: str, result: Value = UNKNOWN) -> Seq:
    return Seq("tuple", (Const(fault), result))


def item_of(run: Run, value: Data, key: Expression, found: Data, site: Site, ctx: Context) -> Data:
    """Returns a part of an array with its sharding, and records the indexing.

    Args:
        run: the run.
        value: the array.
        key: the expression between the brackets.
        found: the part without the sharding.
        site: the place of the indexing.
        ctx: the context.
    """
    sharding = sharding_of(value) if value.shape is not None and not ctx.env.maps else None
    if sharding is None or sharding.mesh is None or value.shape is None:
        return found
    combined = _part(sharding.entries, value.shape, key)
    if combined is None:
        return found
    _note(run, "[]", (Arg(None, value, None, None),), _outcome(combined.fault), site, ctx)
    entries = combined.entries
    return _labelled(_of_full_rank(found, entries), sharding.mesh, entries) if entries is not None else found


def transposed(value: Data, found: Data) -> Data:
    """Returns a transposed array with its sharding."""
    before = sharding_of(value)
    bare = without_sharding(found)
    if before is None or before.mesh is None or value.shape is None:
        return bare
    return _labelled(bare, before.mesh, before.entries[::-1])


def mesh_of(value: Value) -> Site | None:
    """Returns the call that made the mesh over which an array in a value is split."""
    if isinstance(value, (Seq, Dict)):
        return next((found for part in _parts(value) if (found := mesh_of(part)) is not None), None)
    sharding = sharding_of(value)
    return sharding.mesh if sharding is not None else None


def combined(name: str, args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding that JAX derives from those of a function's or operator's arguments; None if unknown."""
    if any(arg.label in ("*", "**") for arg in args):
        return None
    values = [arg.value for arg in args if arg.label is None]
    module, _, short = name.rpartition(".")
    if name == "jax.numpy.where" and len(values) == 3 and (fault := _cases(values[1:])):
        return Combined(None, fault)
    if name in _OPERATORS or (module == "jax.numpy" and short in BROADCAST):
        return _elementwise(values)
    is_told = any(arg.label == OUT_SHARDING for arg in args)
    if name in _PRODUCTS:
        return _product(values, is_told, name == "jax.numpy.dot") if len(values) == 2 else None
    if name == _EINSUM:
        return _einsum(args, is_told)
    if module == "jax.numpy" and values and (special := _SPECIAL.get(short)) is not None:
        return special(args)
    if short in _KEEP and values and module in ("jax.numpy", "jax.nn", "jax.lax"):
        found = sharding_of(values[0])
        is_alone = not any(isinstance(value, (Data, Seq, Dict)) for value in values[1:])
        return Combined(found.entries) if found is not None and is_alone else None
    return _reduced(args) if module == "jax.numpy" and short in REDUCTIONS else None


def _labelled(value: Data, mesh: Site | None, entries: tuple[Entry | None, ...]) -> Data:
    if value.shape is not None and len(entries) > len(value.shape):
        return value
    bare = without_sharding(value)
    return replace(bare, labels=bare.labels | {(TYPED, mesh, entries)}) if mesh is not None else bare


def _of_full_rank(value: Data, entries: tuple[Entry | None, ...]) -> Data:
    """Returns the array; if its rank is unknown, it gets one axis for each entry."""
    return value if value.shape is not None else replace(value, shape=(None,) * len(entries))


def _entries(mesh: Mesh, spec: Spec) -> tuple[Entry, ...] | None:
    """Returns the entries of a spec; None if one is unknown, or an axis of the mesh is not explicit."""
    if spec.open or not mesh.explicit or len(mesh.explicit) < len(mesh.names):
        return None
    found: list[Entry] = []
    for entry in spec.entries:
        names = entry.items if isinstance(entry, Seq) and not entry.open else (entry,)
        known = [name.value for name in names if isinstance(name, Const) and name.value is not None]
        if len(known) < len(names) and not (isinstance(entry, Const) and entry.value is None):
            return None
        found.append(tuple([str(name) for name in known]))
    return tuple(found)


def _said(entry: Entry) -> str:
    return " and ".join(f'"{name}"' for name in entry)


def _checked(entries: tuple[Entry | None, ...], fault: str = "") -> Combined:
    """Returns a result with these entries, or a fault if one mesh axis would split two of its dimensions."""
    names = [name for entry in entries if entry is not None for name in entry]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is None:
        return Combined(entries, fault)
    return Combined(None, fault or f'the result would be split over "{repeated}" along two of its axes')


def _of_rank(values: Iterable[Value]) -> list[tuple[Entry | None, ...]] | None:
    """Returns the entries of each array, each None if unknown; None if the rank of an array is unknown."""
    found: list[tuple[Entry | None, ...]] = []
    for value in values:
        shape, sharding = shape_of(value), sharding_of(value)
        if shape is None:
            return None
        found.append(sharding.entries if sharding is not None else (None,) * len(shape))
    return found


def _elementwise(values: Sequence[Value]) -> Combined | None:
    operands = _of_rank(values)
    if operands is None:
        return None
    rank = max(map(len, operands), default=0)
    entries: list[Entry | None] = []
    for place in range(rank):
        column = [one[place - rank + len(one)] for one in operands if place - rank + len(one) >= 0]
        split = list(dict.fromkeys([entry for entry in column if entry]))
        if len(split) > 1:
            first, other = map(_said, split[:2])
            return Combined(None, f"axis {place} is split over {first} in one array and over {other} in another")
        entries.append(split[0] if split else None if None in column else ())
    return _checked(tuple(entries))


def _cases(cases: Sequence[Value]) -> str:
    """Returns why `where` cannot choose between two arrays; empty if it can."""
    known = [found.entries for case in cases if shape_of(case) and (found := sharding_of(case)) is not None]
    if len(known) < 2 or len(known[0]) != len(known[1]) or None in known[0] + known[1]:
        return ""
    differ = [place for place, entry in enumerate(known[0]) if entry != known[1][place]]
    return f"axis {differ[0]} is split differently in the two arrays that jnp.where selects from" if differ else ""


def _product(values: Sequence[Value], is_told: bool, is_dot: bool) -> Combined | None:
    operands = _of_rank(values)
    if is_told or operands is None or not all(operands):
        return None
    left, right = operands
    fault = _contracted([(left[-1], right[-2] if len(right) > 1 else right[0])])
    if len(right) > 2 and (is_dot or len(left) > 2):
        return Combined(None, fault)
    entries = (*right[:-2], *left[:-1], *(right[-1:] if len(right) > 1 else ()))
    return _checked(entries, fault)


def _contracted(pairs: Iterable[tuple[Entry | None, Entry | None]]) -> str:
    """Returns why a product without an explicit result sharding cannot contract these axes; empty if it can."""
    for left, right in pairs:
        if not left or not right:
            continue
        if left != right:
            one, other = _said(left), _said(right)
            return f"the summed axis is split over {one} in one array and over {other} in another"
        return (
            f"both arrays are split over {_said(left)} along the summed axis; "
            f"pass {OUT_SHARDING}= to say how to split the result"
        )
    return ""


def _einsum(args: tuple[Arg, ...], is_told: bool) -> Combined | None:
    found = einsum_terms(args)
    if is_told or found is None or len(found[0]) > 2:
        return None
    terms, output = found
    known: dict[str, list[Entry | None]] = {}
    for term, operand in terms:
        sharding = sharding_of(operand)
        is_plain = "." not in term and len(set(term)) == len(term)
        if not is_plain or (sharding is not None and len(sharding.entries) > len(term)):
            return None
        entries = sharding.entries if sharding is not None else (None,) * len(term)
        for letter, entry in zip(term, entries + ((),) * (len(term) - len(entries)), strict=True):
            known.setdefault(letter, []).append(entry)
    if any(letter not in known for letter in output):
        return None
    summed = [(both[0], both[1]) for letter, both in known.items() if letter not in output and len(both) > 1]
    fault = _contracted(summed)
    merged: list[Entry | None] = []
    for letter in output:
        split = list(dict.fromkeys([entry for entry in known[letter] if entry]))
        if len(split) > 1:
            first, other = map(_said, split)
            return Combined(None, fault or f'"{letter}" is split over {first} in one array and over {other} in another')
        merged.append(split[0] if split else None if None in known[letter] else ())
    return _checked(tuple(merged), fault)


def _reduced(args: tuple[Arg, ...]) -> Combined | None:
    found = sharding_of(args[0].value) if args and shape_of(args[0].value) is not None else None
    reduced = axes_reduced(args, len(found.entries)) if found is not None else None
    if found is None or reduced is None:
        return None
    axes, keeps = reduced
    entries = enumerate(found.entries)
    if keeps:
        return Combined(tuple([() if place in axes else entry for place, entry in entries]))
    return Combined(tuple([entry for place, entry in entries if place not in axes]))


def _as_first(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of the first argument."""
    found = sharding_of(args[0].value)
    return Combined(found.entries) if found is not None else None


def _like(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of `ones_like(x)`, which is that of `x` unless another shape is given."""
    return _as_first(args) if all(arg.label in (None, "dtype") for arg in args) else None


def _joined(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of concatenated arrays, which must all have the same."""
    items = args[0].value
    known = [sharding_of(item) for item in items.items] if isinstance(items, Seq) and not items.open else []
    shardings = [one.entries for one in known if one is not None]
    if not shardings or len(shardings) < len(known) or any(None in entries for entries in shardings):
        return None
    if len({len(entries) for entries in shardings}) > 1:
        return None
    if len({*shardings}) > 1:
        return Combined(None, "arrays that are concatenated must all have the same sharding, and these differ")
    return Combined(shardings[0])


def _rows_joined(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of `vstack(arrays)`, which makes rows of arrays with one dimension."""
    found = _joined(args)
    if found is None or found.entries is None or len(found.entries) != 1:
        return found
    return Combined(((), *found.entries))


def _stacked(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of `stack(arrays, axis)`."""
    return _with_new_axis(_joined(args), _axis(args, 0))


def _with_axis(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of `expand_dims(x, axis)`."""
    axis = _axis(args, None)
    return _with_new_axis(_as_first(args), axis) if axis is not None else None


def _with_new_axis(before: Combined | None, axis: int | None) -> Combined | None:
    if before is None or before.entries is None or axis is None:
        return before
    place = axis + len(before.entries) + 1 if axis < 0 else axis
    return Combined((*before.entries[:place], (), *before.entries[place:]))


def _along(args: tuple[Arg, ...], default: int | None) -> Combined | None:
    """Returns the sharding of `cumsum(x, axis)` or `sort(x, axis)`, which need a whole axis on each device."""
    found = sharding_of(args[0].value) if shape_of(args[0].value) is not None else None
    axis = _axis(args, default)
    if found is None or axis is None or not -len(found.entries) <= axis < len(found.entries):
        return None
    if entry := found.entries[axis]:
        place = axis % len(found.entries)
        return Combined(None, f"the operation runs along axis {place}, which is split over {_said(entry)}")
    return Combined(found.entries)


def _axis(args: tuple[Arg, ...], default: int | None) -> int | None:
    """Returns the axis that a call names as its second argument or as `axis=`; None if it is unknown."""
    axis = by_parameter(("a", "axis"), args).get("axis")
    if axis is None:
        return default
    return axis.value.value if isinstance(axis.value, Const) and type(axis.value.value) is int else None


def _outer(args: tuple[Arg, ...]) -> Combined | None:
    operands = _of_rank(arg.value for arg in args)
    if operands is None or [len(one) for one in operands] != [1, 1]:
        return None
    return _checked((*operands[0], *operands[1]))


def _swapped(args: tuple[Arg, ...]) -> Combined | None:
    """Returns the sharding of `swapaxes(x, 0, 1)`."""
    found, axes = sharding_of(args[0].value), [arg.value for arg in args[1:] if arg.label is None]
    places = [axis.value for axis in axes if isinstance(axis, Const) and type(axis.value) is int]
    if found is None or len(places) != 2 or not all(-len(found.entries) <= one < len(found.entries) for one in places):
        return None
    entries = list(found.entries)
    one, other = places
    entries[one], entries[other] = entries[other], entries[one]
    return Combined(tuple(entries))


def _part(entries: tuple[Entry | None, ...], shape: Sizes, key: Expression) -> Combined | None:
    """Returns the sharding that JAX gives a part of an array; None if it is unknown."""
    keys = key.items if isinstance(key, TupleDisplay) else (key,)
    taking = [one for one in keys if not _is_new_axis(one)]
    if len(taking) > len(shape):
        return None
    rest: list[Entry | None] = []
    place = -1
    for one in keys:
        if _is_new_axis(one):
            rest.append(())
            continue
        place += 1
        kept = _kept(one, shape[place])
        if kept is None:
            return None
        if (entry := entries[place]) and kept != "all":
            return Combined(None, f"axis {place} is split over {_said(entry)}, but this index takes only part of it")
        if kept != "one":
            rest.append(entries[place])
    return Combined((*rest, *entries[len(taking) :]))


def _is_new_axis(key: Expression) -> bool:
    return isinstance(key, Constant) and key.value is None


def _kept(key: Expression, size: int | None) -> str | None:
    """Returns how much of an axis an index keeps: "all", "some" or "one" (a single position); None if unknown."""
    if isinstance(key, Constant):
        return "one" if type(key.value) is int else None
    if isinstance(key, UnaryOperation):
        return "one" if key.operator == "-" and isinstance(key.operand, Constant) else None
    if not isinstance(key, Slice):
        return None
    if key.lower is None and key.upper is None and key.step is None:
        return "all"
    bounds = [_bound(one) for one in (key.lower, key.upper) if one is not None]
    is_part = key.step is None and size is not None and all(bound is not None and 0 < bound < size for bound in bounds)
    return "some" if is_part else None


def _bound(key: Expression) -> int | None:
    """Returns the distance of a slice's bound from the start or end of the axis; None if the bound is not a literal."""
    node = key.operand if isinstance(key, UnaryOperation) and key.operator == "-" else key
    return node.value if isinstance(node, Constant) and type(node.value) is int else None


def _scanned(args: tuple[Arg, ...]) -> str:
    given = [arg.value for arg in args if arg.label is None]
    over = next((arg.value for arg in args if arg.label == "xs"), given[2] if len(given) > 2 else None)
    split = _first_split(over) if over is not None else None
    return f"scan runs along the first axis, which is split over {_said(split)}" if split else ""


def _first_split(value: Value) -> Entry | None:
    """Returns how the first axis of an array in a tree is split; None if no array's first axis is split."""
    if isinstance(value, (Seq, Dict)):
        return next((found for part in _parts(value) if (found := _first_split(part)) is not None), None)
    sharding = sharding_of(value)
    return (sharding.entries[0] or None) if sharding is not None and sharding.entries else None


_SPECIAL: dict[str, Callable[[tuple[Arg, ...]], Combined | None]] = {
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "full_like"), _like),
    "pad": _as_first,
    "concatenate": _joined,
    "stack": _stacked,
    "vstack": _rows_joined,
    "hstack": _joined,
    "cumsum": partial(_along, default=None),
    "cumprod": partial(_along, default=None),
    "sort": partial(_along, default=-1),
    "outer": _outer,
    "expand_dims": _with_axis,
    "swapaxes": _swapped,
}
"""Functions of `jax.numpy` whose results have shardings by rules of their own."""
_SINCE = {
    "jax.numpy.cumsum": "cumsum-needs-a-whole-axis",
    "jax.numpy.cumprod": "cumsum-needs-a-whole-axis",
    "jax.numpy.sort": "sort-needs-a-whole-axis",
}
"""The behaviors because of which functions refuse arrays that earlier versions accept."""
