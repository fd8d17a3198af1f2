"""Handles calls to names outside the workspace: finds the table row and passes the call to the right module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from meshlens.axes.data import corners, exchanges, fillers, moments, noise
from meshlens.axes.data.arrays import is_unplaced
from meshlens.axes.data.contractions import EINSUM_OF_NAMES, with_letters
from meshlens.axes.data.coordinates import of_call, of_grids
from meshlens.axes.data.drawn_shapes import integers_from
from meshlens.axes.data.fitting import note_combined
from meshlens.axes.data.halos import follow_edges
from meshlens.axes.data.mixing import note_split, of_concatenation
from meshlens.axes.data.operating import SIZES, counted, of_library
from meshlens.axes.data.parts import of_part
from meshlens.axes.data.pipelines import written
from meshlens.axes.data.positions import TOP_K, note_classes, note_picked, with_positions
from meshlens.axes.data.rings import note_owner
from meshlens.axes.data.running_averages import OVER_DEVICES, note_combined_outside
from meshlens.axes.data.shapes import shape_of_sum
from meshlens.axes.data.slices import note_chosen, note_norm, note_skipped, of_verdict_on, scaled_choice
from meshlens.axes.data.typed_shardings import placed, with_sharding
from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, UNPLACED, of_kinds
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Ext, Made, Mesh, Seq, Value
from meshlens.axes.domain.variation import ANYTHING
from meshlens.axes.jax import library_calls
from meshlens.axes.jax.carrying import in_structure
from meshlens.axes.jax.collecting import apply_collective, note_uses
from meshlens.axes.jax.command_lines import call_option
from meshlens.axes.jax.mapping import apply_binder
from meshlens.axes.jax.meshes import make_mesh, make_sharding, make_spec, mesh_for_specs
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.new_variables import (
    is_class_of_nnx,
    may_stop_sharding,
    note_new_variables,
    shards_new_variables,
    stops_sharding,
)
from meshlens.axes.jax.optimizers import note_moments
from meshlens.axes.jax.parameter_trees import with_leaves_named
from meshlens.axes.jax.traced import note_call, of_function, of_operation
from meshlens.axes.jax.transparent import apply_transparent
from meshlens.axes.python import builtin_calls
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import as_tuple
from meshlens.jaxapi.binders import binder
from meshlens.jaxapi.collectives import NAMED_REDUCTIONS, collective
from meshlens.jaxapi.command_lines import PARSERS
from meshlens.jaxapi.concrete import CONCRETE
from meshlens.jaxapi.consumers import consumer
from meshlens.jaxapi.layers import INITIALIZERS
from meshlens.jaxapi.libraries import AS_ARRAY, RANGES_OF_JAX, SAVES, UPDATES
from meshlens.jaxapi.meshes import (
    CONSTRAINT,
    CURRENT_MESH,
    MESH_CONTEXTS,
    MESHES,
    OUT_SHARDING,
    PARTITION_SPEC,
    SETS_FLAX_FLAGS,
    SHARDS_NEW_VARIABLES,
    TAKE_SPECS,
)
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.operations import ELEMENTWISE, OPERATIONS
from meshlens.jaxapi.transparent import transparent

_RECORDED_ROOTS = ("jax.", "flax.", "haiku.", "equinox.", "optax.", "chex.", "objax.", "haliax.")
_MAKE_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.", "numpy.")
_OF_ARRAYS = ("jax.", "numpy.", "einops.")
_EINSUM = "jax.numpy.einsum"
_OF_STATISTICS = moments.FUNCTIONS | OVER_DEVICES
_NOT_RECORDED = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.tree.", "jax.scipy.")


@immutable
class Callee:
    """The table entry for a dotted name.

    Attributes:
        handle: the function that follows calls to it.
        row: its row in a table, or None.
        dotted: the name as written.
        name: its canonical name.
        recorded: which calls are recorded: "all", "named" for those with a string argument, "" for none.
        takes_spec: whether an argument may be a spec for the current mesh.
        combines: whether it may combine arrays.
        needs_values: whether it needs arguments as plain values, which tracers do not have.
        makes_variables: whether it may create variables of flax's nnx.
        sets_flags: whether it may set flags of flax.
        is_plain: whether nothing is known about its result outside maps but what the call itself gives.
    """

    handle: Callable[[Run, Callee, Invocation], Value]
    row: Any
    dotted: str
    name: str
    recorded: str
    takes_spec: bool
    combines: bool
    needs_values: bool
    makes_variables: bool
    sets_flags: bool
    is_plain: bool


@lru_cache(maxsize=2_000)
def _callee(dotted: str) -> Callee:
    name = canonical(dotted)
    handle, row = _handler(name)
    is_known = handle is not _ordinary
    is_recorded = name.startswith(_RECORDED_ROOTS) and (is_known or not name.startswith(_NOT_RECORDED))
    recorded = "named" if name in NAMED_REDUCTIONS else "all" if is_recorded else ""
    return Callee(
        handle,
        row,
        dotted,
        name,
        recorded,
        takes_spec=name in TAKE_SPECS,
        combines=name.startswith("jax.numpy."),
        needs_values=name in CONCRETE,
        makes_variables=is_class_of_nnx(name),
        sets_flags=name in SETS_FLAX_FLAGS,
        is_plain=not (
            name.startswith(_OF_ARRAYS)
            or INITIALIZERS in name
            or OPERATIONS.get(name) in SIZES
            or name.rpartition(".")[2] in _OF_STATISTICS
            or name in UPDATES
        ),
    )


def _handler(name: str) -> tuple[Callable[[Run, Callee, Invocation], Value], Any]:
    for find, handle in _TABLES:
        row = find(name)
        if row is not None:
            return handle, row
    return _ordinary, None


def call_external(run: Run, dotted: str, call: Invocation) -> Value:
    """Returns the result of calling a name outside the workspace."""
    callee = _callee(dotted)
    if callee.name == EINSUM_OF_NAMES and (args := with_letters(call.args)) is not None:
        return call_external(run, _EINSUM, call.of(Ext(_EINSUM), args))
    if callee.needs_values:
        note_call(run, callee.name, call)
    result = call_option(run, callee.name, call) if run.world.by_default or callee.name in PARSERS else None
    if result is None:
        result = callee.handle(run, callee, call)
    name, recorded, args = callee.name, callee.recorded, call.args
    if callee.combines and type(result) is Data and result.array:
        result = of_operation(result, tuple([arg.value for arg in args]), call.ctx)
    if callee.combines and type(result) is Data:
        result = of_function(result, name, call.ctx)
    if callee.combines and call.ctx.env.maps:
        note_combined(run, name, args, call.site, call.ctx)
    if callee.makes_variables:
        note_new_variables(run, name, call)
    elif callee.sets_flags and stops_sharding(name, args):
        may_stop_sharding(run)
    takes_spec = callee.takes_spec or OUT_SHARDING in [arg.label for arg in args]
    if takes_spec and name != CONSTRAINT and not call.ctx.env.maps:
        parameter = TAKE_SPECS.get(name, OUT_SHARDING)
        target = by_parameter(("", parameter), args).get(parameter)
        result = placed(result, target.value if target is not None else UNKNOWN, mesh_for_specs(run, call.ctx))
    if takes_spec and len(args) > 1 and isinstance(args[1].value, Dict):
        args = (args[0], replace(args[1], value=with_leaves_named(run, args[1].value, args[0].value, call)), *args[2:])
    if recorded == "all" or (recorded and any(_is_text(arg.value) for arg in args)) or takes_spec:
        mesh = mesh_for_specs(run, call.ctx, name == CONSTRAINT) if takes_spec else None
        if name == SHARDS_NEW_VARIABLES and run.ambient:
            mesh = run.ambient[-1] if shards_new_variables(run, call.site.path) else None
        guarded = run.api_guard > 0 or call.ctx.expected
        written = dotted if dotted != name else ""
        run.records.calls.append(
            ApiCall(name, call.site, call.callee_site, args, result, call.ctx, call.decorator, guarded, mesh, written)
        )
    return result


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _collective(run: Run, callee: Callee, call: Invocation) -> Value:
    return apply_collective(run, callee.row, call)


def _binder(run: Run, callee: Callee, call: Invocation) -> Value:
    args = call.args
    if callee.name != "jax.make_jaxpr" or any(arg.label == "axis_env" for arg in args) or len(args) > 2:
        return apply_binder(run, callee.row, callee.dotted, call)
    return apply_transparent(run, _make_jaxpr(), callee.dotted, call)


def _mesh(run: Run, callee: Callee, call: Invocation) -> Value:
    args = tuple([replace(arg, value=as_tuple(run, arg.value)) for arg in call.args])
    return make_mesh(callee.row, args, call.site, run.world.jax_version_of(call.site.path))


def _spec(run: Run, callee: Callee, call: Invocation) -> Value:
    return make_spec(call.args, call.site)


def _sharding(run: Run, callee: Callee, call: Invocation) -> Value:
    return make_sharding(callee.name, call.args, call.site)


def _current_mesh(run: Run, callee: Callee, call: Invocation) -> Value:
    """Returns the mesh of `jax.set_mesh`; in a map, the current mesh has other types."""
    mesh = mesh_for_specs(run, call.ctx) if not call.ctx.env.maps else None
    return mesh if isinstance(mesh, Mesh) else UNKNOWN


def _mesh_context(run: Run, callee: Callee, call: Invocation) -> Value:
    args = call.args
    if args and callee.row.call and not call.decorator:
        is_certain = call.frame.parent is None or not (call.ctx.conditional or call.ctx.remote)
        run.ambient.append(args[0].value if is_certain else UNKNOWN)
    return Made(callee.name, call.site, tuple((arg.label or place, arg.value) for place, arg in enumerate(args)))


def _transparent(run: Run, callee: Callee, call: Invocation) -> Value:
    return apply_transparent(run, callee.row, callee.dotted, call)


def _shard(run: Run, callee: Callee, call: Invocation) -> Value:
    """Follows `filter_shard`, which constrains arrays in compiled code and places them on devices elsewhere."""
    steps = {call.how, *(step.how for step in call.ctx.route)}
    is_compiled = bool(call.ctx.env.maps) or not steps.isdisjoint(("jit", "grad", "run", "map"))
    return call_external(run, "jax.lax.with_sharding_constraint" if is_compiled else "jax.device_put", call)


def _identity(run: Run, callee: Callee, call: Invocation) -> Value:
    return call.args[0].value if call.args else UNKNOWN


def _save(run: Run, callee: Callee, call: Invocation) -> Value:
    saved = by_parameter(callee.row, call.args).get(callee.row[-1])
    if saved is not None and not call.ctx.env.maps:
        noise.note_saved(run, saved, call.ctx)
    return _ordinary(run, callee, call)


def _ordinary(run: Run, callee: Callee, call: Invocation) -> Value:
    name = callee.name
    found = builtin_calls.call_builtin(run, name, call)
    if found is None:
        found = library_calls.call_library(run, name, call)
    if found is None:
        found = library_calls.call_elsewhere(run, name, call)
    if call.ctx.env.maps:
        note_split(run, name, call.args, call.site, call.ctx)
        corners.note_convolved(run, name, call.args, call.site, call.ctx)
    if type(found) is not Data:
        is_grids = call.ctx.env.maps and name.endswith(".meshgrid")
        return of_grids(call.args, found) if is_grids and isinstance(found, Seq) else found
    if callee.is_plain and not call.ctx.env.maps:
        return found
    if INITIALIZERS in name:
        return replace(found, made_by=name)
    if found.shape is not None and name in RANGES_OF_JAX:
        found = replace(found, made_by=name)
    if name in AS_ARRAY and call.args and (apart := of_kinds(labels_of(call.args[0].value), "apart")):
        found = replace(found, labels=found.labels.union(apart))
    if name == "sum" and call.ctx.env.maps and (shape := shape_of_sum(call.args)) is not None:
        found = replace(found, shape=shape, array=True)
    integers = integers_from(name, call.args) if found.shape else NONE
    found = replace(found, labels=found.labels | integers) if integers else found
    pieces = of_concatenation(name, call.args, found.shape, call.site)
    found = replace(found, labels=found.labels | pieces) if pieces else found
    if name.startswith(_MAKE_ARRAYS) and not call.ctx.env.maps and all(map(_says_no_place, call.args)):
        found = replace(found, labels=found.labels | UNPLACED)
    found = fillers.of_call(run, name, call.args, found, call.site, call.ctx)
    stencil = corners.of_call(name, call.args, call.site, call.ctx)
    found = replace(found, labels=found.labels | stencil) if stencil else found
    found = with_sharding(run, name, call.args, found, call.site, call.ctx)
    value = _with_variation(found, name, call)
    if name in UPDATES and call.args and type(value) is Data:
        note_moments(run, call.args[-1].value, call.ctx)
        return in_structure(call.args[0].value, value)
    if not call.ctx.env.maps and type(value) is Data:
        value = moments.of_call(name, call.args, value)
        note_combined_outside(run, name, call.args, call.site, call.ctx)
    if not call.ctx.env.maps or type(value) is not Data:
        return Seq("tuple", (value, value)) if name == TOP_K else value
    value = of_call(run, name, call.args, value, call.site, call.ctx)
    if name.startswith(("jax.", "optax.")):
        value = of_part(run, name, call.args, value, call.site, call.ctx)
        edge = follow_edges(run, name, call.args, call.site, call.ctx) | written(run, name, call.args, call.site)
        value = replace(value, labels=value.labels | edge) if edge else value
    note_classes(run, name, call.args, call.ctx)
    note_owner(run, name, call.args, call.ctx)
    is_choice = name == "jax.numpy.where"
    if is_choice and (scaled := scaled_choice(call.args)):
        value = replace(value, labels=value.labels | scaled)
    is_elementwise = name.rpartition(".")[2] in ELEMENTWISE or is_choice
    noised = noise.noised(tuple([arg.value for arg in call.args])) if is_elementwise else NONE
    value = replace(value, labels=value.labels | noised) if noised else value
    is_product = OPERATIONS.get(name) == "product" or name == _EINSUM
    if is_product and len(call.args) > 1:
        noise.note_multiplied(run, call.args[-2].value, call.args[-1].value, call.ctx)
    if OPERATIONS.get(name) == "chosen" and call.args:
        note_chosen(run, call.args[0].value, call.ctx)
        note_skipped(run, call.args[0].value, call.args[1:], call.site, call.ctx)
        exchanges.note_exchanged(run, call.args, call.ctx)
    if decided := exchanges.of_function(name, call.args):
        return replace(value, labels=value.labels | decided)
    norm = note_norm(run, name, call.args, call.site, call.ctx) | of_verdict_on(name, call.args, call.site)
    if norm:
        return replace(value, labels=value.labels | norm)
    if name in ("jax.numpy.take_along_axis", "jax.numpy.take") and len(call.args) > 1:
        picked = note_picked(run, call.args[0].value, call.args[1].value, call.ctx)
        return replace(value, labels=value.labels | picked) if picked else value
    return with_positions(name, call.args, value, call.site)


def _says_no_place(arg: Arg) -> bool:
    return arg.label not in ("*", "**", "device", OUT_SHARDING) and is_unplaced(arg.value)


def _with_variation(found: Data, name: str, call: Invocation) -> Value:
    """Returns the result with the variation that the tables give for it.

    Outside all maps, nothing varies; all that matters is whether a value created there consists of zeros.
    """
    if not call.ctx.env.maps and OPERATIONS.get(name) not in SIZES:
        return found
    over = of_library(name, call.args)
    if over is None or over is ANYTHING:
        return found
    is_sum = OPERATIONS.get(name) == "sum" or name == "jax.numpy.vdot"
    labels = found.labels | counted(over, call.site) if is_sum else found.labels
    return Data(labels, found.shape, found.made_by, found.array, over)


@cache
def _make_jaxpr() -> Any:
    return transparent("jax.make_jaxpr")


def _consume(run: Run, callee: Callee, call: Invocation) -> Value:
    row, args = callee.row, call.args
    given = {arg.label if arg.label is not None else place: arg for place, arg in enumerate(args)}
    axis = given.get(row.parameter) or (given.get(row.index) if row.index is not None else None)
    if row.when == "now" and axis is not None:
        note_uses(run, row.name, axis, call, tuple(by_parameter((), args).items()))
        return UNKNOWN
    arguments = tuple((key, arg.value) for key, arg in given.items())
    if axis is not None and isinstance(axis.value, Const):
        through = Const(axis.value.value, axis.value.origin, axis.value.via or axis.site)
        arguments = (*arguments, ("axis", through))
    return Made(callee.name, call.site, arguments)


def _named(*names: str) -> Callable[[str], Any]:
    return {name: name for name in names}.get


_TABLES: tuple[tuple[Callable[[str], Any], Callable[[Run, Callee, Invocation], Value]], ...] = (
    (collective, _collective),
    (binder, _binder),
    (MESHES.get, _mesh),
    (transparent, _transparent),
    (consumer, _consume),
    (MESH_CONTEXTS.get, _mesh_context),
    (_named(PARTITION_SPEC), _spec),
    (_named("jax.sharding.NamedSharding"), _sharding),
    (_named("equinox.filter_shard"), _shard),
    (SAVES.get, _save),
    (_named("meshlens.identity"), _identity),
    (_named(*CURRENT_MESH), _current_mesh),
)
"""The tables of callees, each with the function that follows calls to its rows; the first table with the name wins."""
