"""Meshes, specs and shardings as values."""

from __future__ import annotations

from meshlens.axes.arrays import shape_of, sizes
from meshlens.axes.joining import options
from meshlens.axes.naming import by_parameter, names_in, value_of
from meshlens.axes.values import UNKNOWN, Arg, Const, Made, Mesh, Seq, Site, Spec, Value
from meshlens.jaxapi.meshes import MeshMaker


def mesh_names(mesh: Value | None) -> tuple[tuple[Const, ...], bool]:
    """The axis names of a mesh, and whether there may be others."""
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


def make_mesh(row: MeshMaker, args: tuple[Arg, ...], site: Site) -> Value:
    """The value of `Mesh(devices, names)`, `make_mesh(shape, names)` and relatives."""
    found = by_parameter(row.parameters, args)
    names: list[Value] = []
    is_open = False
    for parameter in row.names:
        value = value_of(found, parameter)
        if value is None:
            names.extend(Const(name) for name in row.default_names if name == parameter)
            is_open |= parameter not in ("cluster_names", "thread_name") and not row.default_names
        elif isinstance(value, Seq):
            names.extend(value.items)
            is_open |= value.open
        elif isinstance(value, Const) and isinstance(value.value, str):
            names.append(value)
        elif isinstance(value, Const) and value.value is None:
            continue
        else:
            is_open = True
    return Mesh(tuple(names), _sizes(row, found), site, is_open, row.kind)


def _sizes(row: MeshMaker, found: dict[str, Arg]) -> tuple[int | None, ...] | None:
    if row.shape is not None:
        value = value_of(found, row.shape)
        if isinstance(value, Seq) and value.items and all(isinstance(item, Seq) for item in value.items):
            return None
        return sizes(value) if value is not None else None
    if row.devices is not None:
        value = value_of(found, row.devices)
        if value is None:
            return None
        if isinstance(value, Seq) and not value.open:
            inner = value.items[0] if value.items else UNKNOWN
            if isinstance(inner, Seq):
                return None
            return (len(value.items),)
        return shape_of(value)
    return None


def make_spec(args: tuple[Arg, ...], site: Site) -> Spec:
    """The value of `PartitionSpec(…)`."""
    entries = tuple(arg.value for arg in args if arg.label is None)
    sites = tuple(arg.site or site for arg in args if arg.label is None)
    return Spec(entries, site, sites, any(arg.label == "*" for arg in args))


def make_sharding(dotted: str, args: tuple[Arg, ...], site: Site) -> Made:
    """The value of `NamedSharding(mesh, spec)`."""
    found = by_parameter(("mesh", "spec"), args)
    return Made(dotted, site, tuple((name, arg.value) for name, arg in found.items()))
