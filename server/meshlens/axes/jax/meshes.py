"""Meshes, specs and shardings as values."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data.arrays import literal_shape, sizes
from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import UNKNOWN, Arg, Binder, Const, Ext, Made, Mesh, Seq, Site, Spec, Union, Value
from meshlens.axes.jax.naming import by_parameter, names_in, value_of
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.meshes import GRID_SPECS, MeshMaker

_EXPLICIT = "jax.sharding.AxisType.Explicit"


def mesh_names(mesh: Value | None) -> tuple[tuple[Const, ...], bool]:
    """Returns the axis names of a mesh, and whether there may be others."""
    if mesh is None:
        return (), True
    names: list[Const] = []
    is_open = False
    for option in options(mesh):
        if not isinstance(option, Mesh):
            is_open = True
            continue
        is_open |= option.open
        for value in option.names:
            known, unknown = names_in(value)
            names.extend(known)
            is_open |= unknown
    return tuple(dict.fromkeys(names)), is_open


def grid_names(found: dict[str, Arg]) -> tuple[tuple[Const, ...], bool]:
    """Returns the axis names of a Pallas grid, and whether there may be others.

    A grid of pairs, `(("i", 4), ("j", 2))`, has names; plain sizes have none.
    """
    spec = value_of(found, "grid_spec")
    grid = value_of(found, "grid")
    if spec is not None and not _is_none(spec):
        grid = _grid_of(spec)
    names: list[Const] = []
    is_open = False
    for option in options(grid) if grid is not None else ():
        if isinstance(option, Seq):
            is_open |= option.open
            for item in option.items:
                if isinstance(item, Seq):
                    known, unknown = names_in(item.items[0]) if item.items else ((), True)
                    names.extend(known)
                    is_open |= unknown
        else:
            is_open |= not isinstance(option, Const)
    return tuple(names), is_open


def _grid_of(spec: Value) -> Value | None:
    if not isinstance(spec, Made) or spec.dotted not in GRID_SPECS:
        return UNKNOWN
    arguments = dict(spec.arguments)
    if "*" in arguments or "**" in arguments:
        return UNKNOWN
    return arguments.get("grid", arguments.get(GRID_SPECS[spec.dotted]))


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def takes_mesh_in_force(binder: Binder) -> bool:
    """Returns whether a map takes its mesh from `set_mesh` when it is called."""
    given = binder.argument("mesh")
    unknown = any(name in ("*", "**") for name, _ in binder.arguments)
    named = given is not None and not (isinstance(given.value, Const) and given.value.value is None)
    return binder.kind == "shard_map" and not unknown and not named


def with_mesh_in_force(binder: Binder, mesh: Value | None) -> Binder:
    """Returns the map with the mesh that is current at the call, which may differ from the one at its creation."""
    if not takes_mesh_in_force(binder) or mesh is binder.mesh:
        return binder
    if binder.argument("axis_names") is not None:
        return replace(binder, mesh=mesh)
    names, is_open = mesh_names(mesh)
    return replace(binder, mesh=mesh, names=names, open=is_open)


NO_MESH = Ext("meshlens.no_mesh")
"""Stands for the current mesh if there certainly is none."""


def mesh_for_specs(run: Run, ctx: Context, is_constraint: bool = False) -> Value | None:
    """Returns the current mesh, to which specs without a mesh refer; `NO_MESH` if there is none, None if unknown.

    Args:
        run: the run.
        ctx: the context of the specs.
        is_constraint: whether the specs are those of a sharding constraint, which may also refer to the mesh of
            `with mesh:`. See `pjit._create_sharding_for_array` in JAX 0.10.2.
    """
    if run.ambient:
        return run.ambient[-1]
    if run.entered_meshes:
        return run.entered_meshes[-1] if is_constraint else None
    is_unknown = ctx.env.open or ctx.env.maps or run.unclear_contexts
    return None if is_unknown else NO_MESH


def make_mesh(row: MeshMaker, args: tuple[Arg, ...], site: Site, version: tuple[int, ...]) -> Value:
    """Returns the value of `Mesh(devices, names)`, `make_mesh(shape, names)` and relatives.

    Args:
        row: the callable.
        args: its arguments.
        site: the call.
        version: the JAX version.
    """
    found = by_parameter(row.parameters, args)
    names: list[Value] = []
    is_open = False
    for parameter in row.names:
        value = value_of(found, parameter)
        if value is None:
            is_open |= parameter not in ("cluster_names", "thread_name")
        elif isinstance(value, Seq):
            names.extend(value.items)
            is_open |= value.open
        elif isinstance(value, Spec) and all(map(_is_name, value.entries)):
            # A spec is a tuple, too.
            names.extend(value.entries)
            is_open |= value.open
        elif _is_name(value):
            names.append(value)
        elif isinstance(value, Const) and value.value is None:
            continue
        else:
            is_open = True
    explicit = () if is_open else _explicit(row, found, tuple(names), version)
    return Mesh(tuple(names), _sizes(row, found), site, is_open, row.kind, explicit)


def _explicit(
    row: MeshMaker, found: dict[str, Arg], names: tuple[Value, ...], version: tuple[int, ...]
) -> tuple[str, ...]:
    """Returns the names of the certainly explicit axes of a new mesh."""
    if row.axis_types is None or "*" in found or "**" in found:
        return ()
    given = value_of(found, row.axis_types)
    if given is None or given == Const(None):
        is_explicit = row.explicit_since is not None and version >= row.explicit_since
        return (
            tuple([name.value for name in names if _is_name(name) and isinstance(name, Const)]) if is_explicit else ()
        )
    types = given.items if isinstance(given, Seq) and not given.open else ()
    pairs = zip(names, types, strict=False)
    return tuple([name.value for name, one in pairs if isinstance(name, Const) and one == Ext(_EXPLICIT)])


def _is_name(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _sizes(row: MeshMaker, found: dict[str, Arg]) -> tuple[int | None, ...] | None:
    if row.shape is not None:
        value = value_of(found, row.shape if row.shape in found else "axis_sizes")
        if isinstance(value, Seq) and value.items and all(isinstance(item, Seq) for item in value.items):
            return None
        return sizes(value) if value is not None else None
    if row.devices is not None:
        value = value_of(found, row.devices)
        if value is None:
            return None
        return literal_shape(value)
    return None


def make_spec(args: tuple[Arg, ...], site: Site) -> Spec:
    """Returns the value of `PartitionSpec(…)`."""
    entries = tuple(_entry(arg.value) for arg in args if arg.label is None)
    sites = tuple(arg.site or site for arg in args if arg.label is None)
    return Spec(entries, site, sites, any(arg.label == "*" for arg in args))


def _entry(value: Value) -> Value:
    """Returns an entry of a spec; of `tuple(names) if isinstance(names, list) else names`, the names."""
    if not isinstance(value, Union):
        return value
    first, *others = value.options
    if not isinstance(first, Seq) or first.open:
        return value
    is_same = all(isinstance(one, Seq) and one.items == first.items and not one.open for one in others)
    return first if is_same else value


def make_sharding(dotted: str, args: tuple[Arg, ...], site: Site) -> Made:
    """Returns the value of `NamedSharding(mesh, spec)`."""
    found = by_parameter(("mesh", "spec"), args)
    return Made(dotted, site, tuple((name, arg.value) for name, arg in found.items()))
