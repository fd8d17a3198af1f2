"""Arrays that a mesh cannot split into equal parts; JAX rejects them regardless of the devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from meshlens.axes.data.arrays import product
from meshlens.axes.domain.joining import leaves
from meshlens.axes.domain.specs import sharding_parts
from meshlens.axes.domain.values import Arg, Const, Data, Made, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.runs.records import ApiCall, MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.miscounts import entries_of, positional
from meshlens.rules.helpers.spec_pairs import spec_pairs
from meshlens.rules.helpers.specs import argument_of, mesh_place

_SHARD_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})
_Complaint = tuple[Site, str]


def split_badly(view: FileView) -> Iterator[Finding]:
    """Yields findings for arguments of maps and of `device_put` that a mesh of known sizes cannot split."""
    maps: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) in _SHARD_MAPS:
            maps[call.call].append(call)
    for calls in maps.values():
        found = certain((call, call.context, of_shard_map(call) is not None) for call in calls)
        complaint = of_shard_map(found) if found is not None else None
        if found is not None and complaint is not None and view.is_here(complaint[0]):
            binder = found.binder.site
            related = Related(view.path_of(binder), view.span(binder), "mapped here")
            yield Finding(view.span(complaint[0]), complaint[1], (), (related,))
    puts: dict[Site, list[ApiCall]] = defaultdict(list)
    for record in view.records.calls:
        if record.dotted == "jax.device_put":
            puts[record.call].append(record)
    for records in puts.values():
        put = certain((one, one.context, _of_put(one) is not None) for one in records)
        if put is None or put.guarded:
            continue
        complaint = _of_put(put)
        if complaint is not None and view.is_here(complaint[0]):
            where = argument_of(put.args, "device", 1)
            mesh, _ = sharding_parts(where.value) if where is not None else (None, None)
            yield Finding(view.span(complaint[0]), complaint[1], (), mesh_place(view, mesh))


def of_shard_map(call: MappedCall) -> _Complaint | None:
    """Returns the fault in the arguments of one call."""
    if entries_of(call.binder, "in_specs") not in (None, positional(call)):
        return None
    axes = _sizes(call.binder.mesh)
    if axes is None:
        return None
    for place, arg in enumerate(call.args):
        if arg.whole is not None:
            for pair in spec_pairs(axis_of(call.binder, place, arg.label), arg.value):
                found = _unsplit(arg, pair.value, pair.spec, axes)
                if found is not None:
                    return found
    return None


def _of_put(call: ApiCall) -> _Complaint | None:
    """Returns the fault in a `device_put`.

    JAX 0.10.2 raises `IndivisibleError` for any indivisible leaf, even in `jit`.
    """
    what, where = argument_of(call.args, "x", 0), argument_of(call.args, "device", 1)
    if what is None or where is None or not isinstance(where.value, Made):
        return None
    given = dict(where.value.arguments)
    axes = _sizes(given.get("mesh"))
    if where.value.dotted != "jax.sharding.NamedSharding" or axes is None:
        return None
    found = (_unsplit(what, leaf, given.get("spec"), axes) for leaf in leaves(what.value))
    return next(filter(None, found), None)


def _sizes(mesh: Value | None) -> Mapping[object, int | None] | None:
    if not isinstance(mesh, Mesh) or mesh.open or mesh.sizes is None or len(mesh.sizes) != len(mesh.names):
        return None
    return {name.value: size for name, size in zip(mesh.names, mesh.sizes, strict=True) if isinstance(name, Const)}


def _unsplit(arg: Arg, value: Value, spec: Value | None, axes: Mapping[object, int | None]) -> _Complaint | None:
    shape = shape_of_array(value)
    if arg.site is None or shape is None or not isinstance(spec, Spec) or spec.open:
        return None
    for place, (entry, size) in enumerate(zip(spec.entries, shape, strict=False)):
        parts = _parts(entry, axes)
        if parts and size is not None and size % parts:
            named = ", ".join(f'"{name}"' for name in _names(entry))
            rows = counted(size, "row does", "rows do") if place == 0 else f"size {size} of axis {place} does"
            return arg.site, f"{rows} not divide evenly over {counted(parts, 'device')} along {named}"
    return None


def shape_of_array(value: Value) -> tuple[int | None, ...] | None:
    """Returns the shape of an array; None if unknown, and for random keys and new state."""
    if not isinstance(value, Data) or "key" in value.labels or "fresh" in value.labels:
        return None
    return value.shape


def _names(entry: Value) -> tuple[str, ...]:
    items = entry.items if isinstance(entry, Seq) else (entry,)
    return tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))


def _parts(entry: Value, axes: Mapping[object, int | None]) -> int | None:
    """Returns how many devices an entry of a spec splits an axis over; None if unknown."""
    items = entry.items if isinstance(entry, Seq) else (entry,)
    names = _names(entry)
    if len(names) != len(items):
        return None
    return product(tuple(axes.get(name) for name in names))
