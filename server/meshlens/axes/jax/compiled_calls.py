"""Calls to jitted functions with sharded arguments or results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.sharded_shapes import parts_along
from meshlens.axes.domain.classes import HASH_OF_FIELDS, class_attribute, is_named_tuple
from meshlens.axes.domain.joining import labels_of, options, union
from meshlens.axes.domain.labels import NONE, ON_A_MESH, ON_COPIES, ON_ONE_DEVICE, PLACES, TRACED
from meshlens.axes.domain.specs import sharding_parts
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Const,
    Data,
    Dict,
    Function,
    Instance,
    Made,
    Mesh,
    Seq,
    Site,
    Spec,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.jax.meshes import mesh_for_specs
from meshlens.axes.jax.naming import underlying
from meshlens.axes.jax.parameter_trees import with_leaves_named
from meshlens.axes.jax.train_states import is_state
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.heap import attributes_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST, as_tree, fields_of, with_fields

CALLED = "jax.jit()"
"""The name of the record of a call with sharded arguments; it contains a tuple of the arguments, and the shardings."""

RETURNED = "jax.jit() results"
"""The name of the record of a call with a sharded result; it contains the result and the shardings."""

DONATES = "jax.jit() donates"
"""The name under which the donated arguments of a call are recorded.

The recorded result has a tuple for each argument: the names of its attributes that hold no arrays, such as sizes.
"""


STATIC_OF_JIT = "jax.jit() static"
"""The name under which the static arguments of a call are recorded."""


APART = "jax.jit() apart"
"""The name under which arguments on one device are recorded if other arguments of the call are on a mesh."""

_FIRST_DONATED: dict[object, int] = {"all": 0, "warn": 0, "all-except-first": 1, "warn-except-first": 1}
"""The position of the first argument that `equinox.filter_jit` donates, by the value of its argument `donate`."""

_MOST_PARTS = 32

UNHASHABLE_FIELD = "jax.jit() static field"
"""The name of the value that represents a static argument with an unhashable field, and names its class and field."""


def has_no_hash(value: Value) -> bool:
    """Returns whether a value is certainly a list, a dictionary or an array."""
    return isinstance(value, Dict) or (isinstance(value, Seq) and value.kind == "list") or bool(shape_of(value))


def note_donated(
    run: Run, given: Iterable[tuple[str | None, Value]], operand: Value, call: Invocation, returned: Value
) -> None:
    """Records the arguments that a call donates to a jitted or mapped function.

    Args:
        run: the run.
        given: the arguments of `jit` or `pmap`, by name.
        operand: the function.
        call: the call.
        returned: the function's result.
    """
    said = [(name, value) for name, value in given if name is not None and name.startswith("donate")]
    args, ctx = call.args, call.ctx
    if not said or ctx.env.maps or any(arg.label in ("*", "**") for arg in args):
        return
    # Inside another jit or map, nothing is donated.
    if not {call.how, *(step.how for step in ctx.route)}.isdisjoint(("jit", "grad", "run", "map")):
        return
    donated = chosen_by([value for name, value in said if name != "donate"], operand, args)
    whole = next((value for name, value in said if name == "donate"), None)
    if isinstance(whole, Const) and whole.value in _FIRST_DONATED:
        results = list(_arrays_in(run, returned))
        taken = args[_FIRST_DONATED[whole.value] :]
        donated += [arg for arg in taken if any(one in results for one in _arrays_in(run, arg.value))]
    room = _arrays_of(returned)
    donated = [replace(arg, label=_taken(run, arg.value, returned, room, len(donated))) for arg in donated]
    if donated:
        guarded = run.api_guard > 0 or ctx.expected
        rest = Seq("tuple", tuple([_not_arrays(run, arg.value) for arg in donated]))
        run.records.calls.append(ApiCall(DONATES, call.site, call.site, tuple(donated), rest, ctx, False, guarded))


def _not_arrays(run: Run, value: Value) -> Seq:
    """Returns the names of the attributes of an object that certainly hold no arrays."""
    held = {**(fields_of(run, value) or {}), **attributes_of(run, value)} if isinstance(value, Instance) else {}
    names = [Const(name) for name, one in held.items() if isinstance(one, (Const, Function, Spec, Mesh))]
    return Seq("tuple", tuple(names))


def note_static(run: Run, given: Iterable[tuple[str | None, Value]], operand: Value, call: Invocation) -> None:
    """Records the arguments of a call that are static for a jitted function.

    Args:
        run: the run.
        given: the arguments of `jit`, by name.
        operand: the function.
        call: the call.
    """
    said = [value for name, value in given if name in ("static_argnums", "static_argnames")]
    if not said or any(arg.label in ("*", "**") for arg in call.args):
        return
    if static := [replace(arg, value=hashed(run, arg.value)) for arg in chosen_by(said, operand, call.args)]:
        guarded = run.api_guard > 0 or call.ctx.expected
        run.records.calls.append(
            ApiCall(STATIC_OF_JIT, call.site, call.site, tuple(static), UNKNOWN, call.ctx, False, guarded)
        )


def hashed(run: Run, value: Value, depth: int = 0) -> Value:
    """Returns an `UNHASHABLE_FIELD` for an object with an unhashable field, perhaps that of an object in it.

    Any other value is returned unchanged.
    """
    fields = fields_of(run, value)
    if not fields or not isinstance(value, Instance):
        return value
    if not is_named_tuple(value.cls) and class_attribute(value.cls, "__hash__") != HASH_OF_FIELDS:
        return value
    for name, held in fields.items():
        declared = class_attribute(value.cls, name)
        is_left_out = isinstance(declared, Made) and not {"hash", "compare"}.isdisjoint(dict(declared.arguments))
        if is_left_out:
            continue
        if has_no_hash(held):
            return Made(UNHASHABLE_FIELD, value.cls.site, (("class", Const(value.cls.name)), (name, held)))
        inner = hashed(run, held, depth + 1) if isinstance(held, Instance) and depth < _DEEPEST_FIELD else held
        if inner is not held:
            return inner
    return value


def chosen_by(said: Iterable[Value], operand: Value, args: tuple[Arg, ...]) -> list[Arg]:
    """Returns the arguments that `jit` or `pmap` selects by position or name, for example with `static_argnums`."""
    positional = [arg for arg in args if arg.label is None]
    found: list[Arg] = []
    for value in said:
        for one in value.items if isinstance(value, Seq) and not value.open else (value,):
            chosen = one.value if isinstance(one, Const) else None
            if isinstance(chosen, str):
                found.extend(arg for arg in args if arg.label == chosen)
                found.extend(positional[place : place + 1] if (place := _place(operand, chosen)) is not None else ())
            elif isinstance(chosen, int) and -len(positional) <= chosen < len(positional):
                found.append(positional[chosen])
    return found


_DEEPEST_FIELD = 4

OF_JAX = "of-jax"
"""The label of a donated argument that certainly holds JAX arrays, whose memory the results use."""
ARRAYS_OF_JAX = "arrays-of-jax"
"""The label of such an argument if it certainly holds at least one array."""
MAY_BE_LEFT = "may-be-left"
"""The label of a donated argument that may stay intact because the results may not need its memory."""
_EVIDENCE = frozenset({"of-jax", "fresh", "key", "keys"})


def _of_jax(run: Run, value: Value, returned: Value) -> str | None:
    """Returns the label of an argument whose arrays certainly come from JAX and whose memory the result will reuse.

    JAX does not reuse a donated array if no result has its shape.
    """
    if not _is_of_jax(run, value):
        return None
    results = list(_arrays_in(run, returned))
    if any(one in results for one in _arrays_in(run, value)):
        return ARRAYS_OF_JAX
    # A training step returns its arguments, updated.
    return OF_JAX if "of-gradient" in labels_of(returned) else None


def _arrays_of(returned: Value) -> tuple[Data, ...] | None:
    """Returns the arrays of a result that is an array or a tuple of arrays; None for any other result."""
    items = returned.items if isinstance(returned, Seq) and not returned.open else (returned,)
    arrays = tuple([item for item in items if isinstance(item, Data) and (item.array or item.shape is not None)])
    return arrays if len(arrays) == len(items) else None


def _taken(run: Run, value: Value, returned: Value, room: tuple[Data, ...] | None, donated: int) -> str | None:
    """Returns the label of a donated argument; None if nothing is certain.

    Args:
        run: the run.
        value: the argument.
        returned: the result.
        room: the arrays of the result; None if their number is unknown.
        donated: the number of donated arguments.
    """
    certain = _of_jax(run, value, returned)
    if certain is not None or room is None:
        return certain
    shapes = [_known(value), *map(_known, room)]
    has_none = None not in shapes and shapes[0] not in shapes[1:]
    return MAY_BE_LEFT if has_none or len(room) < donated else None


def _known(value: Value) -> tuple[int | None, ...] | None:
    """Returns the shape of an array; None unless all its sizes are known."""
    return value.shape if isinstance(value, Data) and value.shape is not None and None not in value.shape else None


def _arrays_in(run: Run, value: Value, depth: int = 0) -> Iterator[object]:
    """Yields the known structures of the trees in a value, and the shapes of its arrays, for comparison."""
    if isinstance(value, (Seq, Dict)) and depth < DEEPEST:
        if isinstance(value, Dict) and not value.open:
            yield frozenset([key for key, _ in value.items])
        for item in value.items:
            yield from _arrays_in(run, item[1] if isinstance(item, tuple) else item, depth + 1)
    elif isinstance(value, Instance) and value.cls.dataclass:
        yield value.cls
    elif is_state(value):
        yield "state"
    elif isinstance(value, Data) and value.shape and None not in value.shape:
        yield value.shape


def _is_of_jax(run: Run, value: Value) -> bool:
    """Returns whether all arrays in a value certainly come from JAX; numbers, such as the count of steps, may not."""
    if isinstance(value, (Seq, Dict)):
        items = [item[1] if isinstance(item, tuple) else item for item in value.items]
        return not value.open and _are_of_jax(run, items)
    if isinstance(value, Instance):
        fields = fields_of(run, value) or {}
        return _are_of_jax(run, [one for one in fields.values() if isinstance(one, (Data, Seq, Dict))])
    return is_state(value) or (isinstance(value, Data) and not value.labels.isdisjoint(_EVIDENCE))


def _are_of_jax(run: Run, values: list[Value]) -> bool:
    arrays = [one for one in values if not (isinstance(one, Data) and one.shape == ())]
    return all(_is_of_jax(run, one) for one in arrays or values) and bool(values)


def as_arrays(run: Run, value: Value, site: Site, place: frozenset[str] = NONE, depth: int = 0) -> Value:
    """Returns a value with its arrays labeled as made by JAX or placed on devices.

    Args:
        run: the run.
        value: the value.
        site: the call that makes or places the arrays.
        place: the label of the place; none if it is unknown.
        depth: how many named tuples are around the value.
    """
    if isinstance(value, Seq):
        return Seq(value.kind, tuple([as_arrays(run, item, site, place, depth) for item in value.items]), value.open)
    if isinstance(value, Dict):
        items = tuple([(key, as_arrays(run, item, site, place, depth)) for key, item in value.items])
        return Dict(items, value.open, value.attributes)
    if isinstance(value, Instance) and depth < DEEPEST and fields_of(run, value):
        return with_fields(run, value, lambda _, held: as_arrays(run, held, site, place, depth + 1), site)
    if isinstance(value, Union):
        return union([as_arrays(run, option, site, place, depth) for option in value.options])
    return (
        replace(value, labels=(value.labels - PLACES - {TRACED}) | {OF_JAX} | place)
        if isinstance(value, Data)
        else value
    )


def as_results(run: Run, value: Value, target: Value, site: Site) -> Value:
    """Returns the result of a jitted function, labeled as made by JAX and placed by its `out_shardings`."""
    if isinstance(value, Seq) and isinstance(target, Seq) and len(value.items) == len(target.items):
        pairs = zip(value.items, target.items, strict=True)
        return Seq(value.kind, tuple([as_results(run, one, its, site) for one, its in pairs]), value.open)
    return as_arrays(run, value, site, place_of(target))


def place_of(target: Value | None) -> frozenset[str]:
    """Returns the labels of arrays after `device_put` to a device or sharding; none if their place is unknown."""
    if isinstance(target, Data):
        return frozenset({ON_ONE_DEVICE}) if "device" in target.labels else PLACES & target.labels
    if isinstance(target, (Seq, Dict)) and target.items:
        parts = [item[1] if isinstance(item, tuple) else item for item in target.items[:_MOST_PARTS]]
        return frozenset.intersection(*map(place_of, parts)) if len(parts) == len(target.items) else NONE
    if not isinstance(target, Made):
        return NONE
    if target.dotted == "jax.sharding.SingleDeviceSharding":
        return frozenset({ON_ONE_DEVICE})
    mesh, spec = sharding_parts(target)
    sizes = mesh.sizes if isinstance(mesh, Mesh) else None
    has_many = sizes is not None and (None in sizes or prod(size for size in sizes if size is not None) > 1)
    if not has_many or not isinstance(mesh, Mesh):
        return NONE
    has_copies = spec is not None and all(_leaves_axes(mesh, option) for option in options(spec))
    return frozenset({ON_A_MESH, ON_COPIES} if has_copies else {ON_A_MESH})


def _leaves_axes(mesh: Mesh, spec: Value) -> bool:
    """Returns whether a spec certainly splits over fewer axes than a mesh has, so that devices hold equal parts."""
    entries = spec.entries if isinstance(spec, Spec) and not spec.open else None
    parts = [parts_along(mesh, entry) for entry in entries or ()]
    total = parts_along(mesh, Seq("tuple", mesh.names))
    known = [count for count in parts if count is not None]
    return entries is not None and total is not None and len(known) == len(parts) and prod(known) < total


def note_places(run: Run, wrapped: Wrapped, call: Invocation) -> None:
    """Records the arguments of a call to a jitted function that are on one device, if others are on a mesh."""
    is_inside = bool(call.ctx.env.maps) or any(step.how in ("jit", "grad", "run") for step in call.ctx.route)
    if is_inside or any(arg.label == "in_shardings" for arg in wrapped.arguments):
        return
    places = [(arg, _places_in(run, arg.value)) for arg in call.args]
    if not any(ON_A_MESH in place for _, place in places):
        return
    alone = tuple([arg for arg, place in places if ON_ONE_DEVICE in place])
    if alone:
        guarded = run.api_guard > 0 or call.ctx.expected
        run.records.calls.append(ApiCall(APART, call.site, call.site, alone, UNKNOWN, call.ctx, False, guarded))


def _places_in(run: Run, value: Value, depth: int = 0) -> frozenset[object]:
    if isinstance(value, Data):
        return value.labels & PLACES
    parts: list[Value] = []
    if isinstance(value, Seq) and len(value.items) <= _MOST_PARTS:
        parts = list(value.items)
    elif isinstance(value, Dict) and len(value.items) <= _MOST_PARTS:
        parts = [item for _, item in value.items]
    elif isinstance(value, Instance):
        parts = list((fields_of(run, value) or {}).values())
    found = [_places_in(run, part, depth + 1) for part in parts] if depth < DEEPEST else []
    return NONE.union(*found)


def _place(function: Value, name: str) -> int | None:
    """Returns the position of a parameter in calls; None if the function or the parameter is unknown."""
    while isinstance(function, Wrapped):
        function = function.operand
    known = underlying(function)
    return next((place for place, (one, *_) in enumerate(known[1]) if one == name), None) if known is not None else None


def note_results(run: Run, wrapped: Wrapped, returned: Value, call: Invocation) -> None:
    """Records the result of a call if the function was jitted with `out_shardings`."""
    given = next((arg for arg in wrapped.arguments if arg.label == "out_shardings"), None)
    if given is None:
        return
    site, ctx = call.site, call.ctx
    shardings = with_leaves_named(run, as_tree(run, given.value), returned, call)
    recorded = (Arg(None, as_tree(run, returned), site, site), Arg(None, shardings, given.whole, given.site))
    guarded = run.api_guard > 0 or ctx.expected
    mesh = mesh_for_specs(run, ctx)
    run.records.calls.append(ApiCall(RETURNED, site, site, recorded, UNKNOWN, ctx, False, guarded, mesh))


def note_shardings(run: Run, wrapped: Wrapped, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Records a call if the function was jitted with `in_shardings`.

    Args:
        run: the run.
        wrapped: the jitted function.
        args: the arguments of the call.
        site: the call.
        ctx: the context.
    """
    given = next((arg for arg in wrapped.arguments if arg.label == "in_shardings"), None)
    labels = {arg.label for arg in wrapped.arguments}
    if given is None or labels & {"static_argnums", "static_argnames", "*", "**"} or any(arg.label for arg in args):
        return
    values = Arg(None, as_tree(run, Seq("tuple", tuple(arg.value for arg in args))), site, site)
    recorded = (values, Arg(None, as_tree(run, given.value), given.whole, given.site))
    mesh = mesh_for_specs(run, ctx)
    guarded = run.api_guard > 0 or ctx.expected
    run.records.calls.append(ApiCall(CALLED, site, site, recorded, UNKNOWN, ctx, False, guarded, mesh))
