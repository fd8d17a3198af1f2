"""Applies binders (`pmap`, `vmap`, `shard_map` and their relatives), and runs the mapped functions."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data.noise import note_laid_out
from meshlens.axes.data.parts import note_returned
from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Binder,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Mapped,
    Partial,
    Seq,
    Site,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.values import Bound as BoundMethod
from meshlens.axes.jax.compiled_calls import hashed, note_donated
from meshlens.axes.jax.mapped_values import (
    adds_up,
    axis_of,
    entering,
    has_entry_for_each,
    is_static_place,
    kernel_result,
    one_per_device,
    stacked,
    with_rows,
)
from meshlens.axes.jax.meshes import grid_names, mesh_for_specs, mesh_names, with_mesh_in_force
from meshlens.axes.jax.naming import by_parameter, names_in, underlying, value_of
from meshlens.axes.jax.parameter_trees import with_leaves
from meshlens.axes.jax.traced import arguments_of_map
from meshlens.axes.python.outside import axes_of, from_outside
from meshlens.axes.runs.context import AxisEnv, Bound, Context, Step
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import as_data, as_tree
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.binders import Binder as Row
from meshlens.jaxapi.names import canonical

_DECORATED = "decorated"
_PREFIXES = frozenset({"in_axes", "out_axes", "in_specs", "out_specs"})


def apply_binder(run: Run, row: Row, dotted: str, call: Invocation) -> Value:
    """Returns the value of `pmap(f, …)`; for `pmap(axis_name=…)`, a function that waits for its operand.

    A binder that can only be used as a decorator runs its operand immediately.
    """
    site, ctx = call.site, call.ctx
    handed = row.operand or _DECORATED
    found = by_parameter(row.parameters if row.operand else (*row.parameters, handed), call.args)
    operand = found.get(handed)
    if operand is None and "*" not in found:
        return Partial(Ext(dotted), call.args, site)
    names, is_open = _names(run, row, found)
    checks = [value_of(found, name) for name in ("check_vma", "check_rep")] if row.check else []
    value = operand.value if operand is not None else UNKNOWN
    binder = Binder(
        row.kind,
        dotted,
        site,
        names,
        is_open,
        tuple((name, _with_entries(run, name, arg)) for name, arg in found.items() if name != handed),
        _mesh(run, row, found),
        value,
        operand.site if operand is not None else None,
        row.kind in ("shard_map", "smap")
        and not any(isinstance(check, Const) and check.value is False for check in checks),
        _objects(run, found),
    )
    mapped = Mapped(binder)
    functions = [underlying(option) for option in options(value)]
    function = functions[0] if len(functions) == 1 else None
    run.records.bindings.append(
        Binding(binder, ctx, call.decorator, function[0] if function else None, function[1] if function else None)
    )
    run.mapped.setdefault(site, (mapped, ctx))
    return mapped if row.operand else call_mapped(run, mapped, call.of(mapped, ()))


def _with_entries(run: Run, name: str, arg: Arg) -> Arg:
    """Returns an argument, with named tuples as plain tuples if it may be a tree prefix, such as `in_specs`."""
    tree = as_tree(run, arg.value) if name in _PREFIXES else arg.value
    return arg if tree is arg.value else replace(arg, value=tree)


def _objects(run: Run, found: dict[str, Arg]) -> Value | None:
    """Returns the `in_specs` or `in_axes` of a map if they contain named tuples."""
    given = found.get("in_specs") or found.get("in_axes")
    return given.value if given is not None and as_tree(run, given.value) is not given.value else None


def _names(run: Run, row: Row, found: dict[str, Arg]) -> tuple[tuple[Const, ...], bool]:
    if row.names_from == "mesh":
        return _names_of_mesh(run, row, found)
    if row.names_from == "grid":
        return grid_names(found)
    if row.names_from == "parameters":
        return _names_of_mesh(run, row, found) if "mesh" in found else _names_of_parameters(row, found)
    value = value_of(found, row.names)
    if row.names_from == "axis_env":
        pairs = value.items if isinstance(value, Seq) else ()
        names = [names_in(pair.items[0])[0] for pair in pairs if isinstance(pair, Seq) and pair.items]
        is_open = value is not None and not isinstance(value, (Seq, Const))
        return tuple(name for group in names for name in group), is_open
    if row.names_from == "xmap":
        return (), True
    if not row.names_from:
        return (), row.open
    if value is None:
        return ((Const(row.default_name),) if row.default_name else ()), row.open
    names_here, is_open = names_in(value)
    if isinstance(value, Seq):
        return names_here, True
    return names_here, is_open or row.open


def _names_of_parameters(row: Row, found: dict[str, Arg]) -> tuple[tuple[Const, ...], bool]:
    given = (value_of(found, name) for name in (row.names, *row.more_names))
    parts = [names_in(value) for value in given if value is not None]
    return tuple(name for names, _ in parts for name in names), any(is_open for _, is_open in parts)


def _names_of_mesh(run: Run, row: Row, found: dict[str, Arg]) -> tuple[tuple[Const, ...], bool]:
    mesh = _mesh(run, row, found)
    chosen = value_of(found, row.names) if row.names_from == "mesh" and row.names != row.mesh else None
    if chosen is not None and not (isinstance(chosen, Seq) and not chosen.items):
        names, is_open = names_in(chosen)
        of_mesh, mesh_is_open = mesh_names(mesh)
        return names, is_open or (not mesh_is_open and not set(names) <= set(of_mesh))
    auto = value_of(found, "auto")
    names, is_open = mesh_names(mesh)
    if auto is not None:
        automatic, unknown = names_in(auto)
        names = tuple(name for name in names if name not in automatic)
        is_open |= unknown
    return names, is_open


def _mesh(run: Run, row: Row, found: dict[str, Arg]) -> Value | None:
    if row.mesh is None:
        return None
    given = value_of(found, row.mesh)
    if given is not None and not (isinstance(given, Const) and given.value is None):
        return given
    return run.ambient[-1] if run.ambient else None


def extend(env: AxisEnv, binder: Binder) -> AxisEnv:
    """Returns the environment in which a binder runs its operand."""
    bound = tuple(Bound(name.value, binder) for name in binder.names)
    on_devices = binder.kind in MAPS_ON_DEVICES or binder.kind == "axis_env"
    return AxisEnv(env.bound + bound, binder.open or (env.open and not on_devices), (*env.maps, binder))


def call_mapped(run: Run, mapped: Mapped, call: Invocation) -> Value:
    """Runs the operand of a map with each device's arguments, and stacks the results.

    For a flax module class, the calls are mapped, but the object is created as usual.
    """
    args, site, ctx = call.args, call.site, call.ctx
    if isinstance(mapped.binder.operand, Class) and canonical(mapped.binder.dotted).startswith("flax.linen."):
        made = run.invoke(Invocation(mapped.binder.operand, args, site, mapped.binder.site, call.frame, ctx))
        run.called.add(mapped.binder.site)
        return Mapped(replace(mapped.binder, operand=made)) if isinstance(made, Instance) else UNKNOWN
    binder = with_mesh_in_force(mapped.binder, mesh_for_specs(run, ctx))
    run.called.add(binder.site)
    fits = has_entry_for_each(binder, args)
    by_leaf = [_by_leaf(run, binder, place, call) if fits else arg for place, arg in enumerate(args)]
    inner_args = tuple(
        Arg(arg.label, entering(run, binder, place, own) if fits else UNKNOWN, arg.whole, arg.site)
        for place, (arg, own) in enumerate(zip(args, by_leaf, strict=True))
    )
    inner_args = arguments_of_map(binder, args, inner_args, site) if fits else inner_args
    returned = run_operand(run, binder, inner_args, site, ctx)
    exact = all(arg.label not in ("*", "**") for arg in args)
    seen = tuple(
        [
            replace(arg, value=hashed(run, arg.value)) if is_static_place(binder, place) else _as_tree(run, arg)
            for place, arg in enumerate(args)
        ]
    )
    run.records.mapped_calls.append(MappedCall(binder, site, seen, exact, ctx, as_data(run, returned)))
    if binder.kind == "shard_map":
        note_returned(run, returned, axes_of(binder), site, ctx)
    if binder.kind == "pallas":
        return kernel_result(binder, args)
    results = stacked(run, binder, returned)
    if exact and (binder.kind == "vmap" or (binder.kind == "pmap" and not ctx.env.maps)):
        results = with_rows(binder, results, returned, args)
    if binder.kind == "pmap" and (binder.names or (ctx.loop and adds_up(run, binder, returned, inner_args))):
        results = one_per_device(run, binder, returned, results, site)
    # Not for flax.nnx, which puts new arrays into the objects passed to the function.
    if binder.kind == "pmap" and binder.dotted.startswith("jax."):
        given = [(name, arg.value) for name, arg in binder.arguments]
        note_donated(run, given, binder.operand, call, results)
    return results


def run_operand(run: Run, binder: Binder, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    """Runs the function that a binder maps, in the environment that the binder creates."""
    env = extend(ctx.env, binder)
    closes = binder.kind in MAPS_ON_DEVICES
    inner = ctx._replace(
        env=env,
        route=(*ctx.route, Step(site, "map", name_of(binder.operand), None, env)),
        conditional=False if closes else ctx.conditional,
        remote=ctx.remote or bool(ctx.conditional),
        guarded=ctx.guarded and (ctx.expected or not closes),
        sure=True if closes else ctx.sure,
        branch=None if closes else ctx.branch,
    )
    ambient = len(run.ambient)
    frame = Frame(site.path, site.block, None)
    operand = _seen_from_inside(binder.operand, inner)
    run.in_maps += 1
    result = run.invoke(Invocation(operand, args, binder.site, binder.operand_site or binder.site, frame, inner, "map"))
    run.in_maps -= 1
    if binder.kind == "shard_map" and (given := binder.argument("out_specs")) is not None:
        note_laid_out(run, given.value, result, inner)
    del run.ambient[ambient:]
    return result


def _by_leaf(run: Run, binder: Binder, place: int, call: Invocation) -> Arg:
    """Returns an argument of a map; a model's parameters get their leaves if the specs name them."""
    arg = call.args[place]
    entry = axis_of(binder, place, arg.label)
    if not isinstance(entry, Dict) or not isinstance(arg.value, Data):
        return arg
    return replace(arg, value=with_leaves(run, arg.value, call))


def _as_tree(run: Run, arg: Arg) -> Arg:
    tree = as_tree(run, arg.value)
    return arg if tree is arg.value else replace(arg, value=tree)


def _seen_from_inside(operand: Value, ctx: Context) -> Value:
    """Returns the mapped function; arguments that a partial binds outside the map become values as seen inside it."""
    if isinstance(operand, Wrapped) and isinstance(operand.operand, (Partial, Wrapped)):
        inner = _seen_from_inside(operand.operand, ctx)
        return operand if inner is operand.operand else replace(operand, operand=inner)
    if not isinstance(operand, Partial):
        return operand
    maps = len(ctx.env.maps) - 1
    given = tuple(replace(arg, value=from_outside(arg.value, maps, ctx)) for arg in operand.args)
    return replace(operand, args=given) if given != operand.args else operand


def run_uncalled(run: Run, mapped: Mapped, ctx: Context) -> None:
    """Runs the operand of a map that no visible code calls, with unknown arguments."""
    binder = with_mesh_in_force(mapped.binder, None)
    splat: tuple[Arg, ...] = (Arg("*", Data(frozenset({"varying"})), None, None), Arg("**", UNKNOWN, None, None))
    parameters = underlying(binder.operand)
    if parameters is not None and all(how in ("any", "only") for _, how, _ in parameters[1]):
        splat = tuple(
            Arg(None, entering(run, binder, place, Arg(None, UNKNOWN, None, None)), None, None)
            for place, (_, _, default) in enumerate(parameters[1])
            if not default
        )
    if binder.kind not in MAPS_ON_DEVICES:
        ctx = ctx._replace(env=replace(ctx.env, open=True))
    returned = run_operand(run, binder, arguments_of_map(binder, splat, splat, binder.site), binder.site, ctx)
    returned = as_data(run, returned)
    run.records.mapped_calls.append(MappedCall(binder, binder.site, (), False, ctx, returned, visible=False))


def name_of(value: Value) -> str:
    """Returns the name of a function for messages."""
    if isinstance(value, Function):
        return value.name
    if isinstance(value, BoundMethod):
        return name_of(value.function)
    if isinstance(value, Partial):
        return name_of(value.callee)
    if isinstance(value, Mapped):
        return name_of(value.binder.operand)
    if isinstance(value, Wrapped):
        return name_of(value.operand)
    if isinstance(value, Ext):
        return value.dotted.rsplit(".", 1)[-1]
    if isinstance(value, Union):
        return name_of(value.options[0])
    return "function"
