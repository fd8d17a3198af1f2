"""Code written for automatic axes uses a mesh with explicit axes, the default of `make_mesh` since JAX 0.9.0.

The sharding of an array over explicit axes is part of its type, and JAX changes it only if the code says so.
A sharding constraint that names such an axis raises `ValueError: The spec of NamedSharding passed to
with_sharding_constraint can only refer to Auto axes of the mesh`.
Since 0.9.1, a `shard_map` that splits an array that is not split yet raises `ValueError: in_specs passed to shard_map:
P('data', None) does not match the specs of the input: P(None, None)`.
Pass `axis_types=` with `AxisType.Auto` to make the axes automatic again, or split the arrays first, with
`jax.device_put` or `jax.reshard`.

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))
#      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX215: axis "data" of this mesh is explicit by default as of JAX 0.9.0, so an \\
#      argument that a shard_map splits over it must already be split
double = jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
print(double(jnp.ones((8, 4))))
```

becomes

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
double = jax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
print(double(jnp.ones((8, 4))))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from meshlens.axes.data.arrays import is_unplaced
from meshlens.axes.domain.specs import sharding_parts, spec_names
from meshlens.axes.domain.values import Arg, Const, Data, Dict, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.meshes import NO_MESH
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.history import holds
from meshlens.jaxapi.meshes import CONSTRAINT, MESHES
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled
from meshlens.rules.helpers.specs import argument_of, mesh_place
from meshlens.text import Edit, FileEdit, Span

_EXPLICIT, _COMPARED = "make-mesh-is-explicit", "in-specs-are-compared"
_TYPE = "jax.sharding.AxisType"
_CONSTRAINS = "but {} constraint names it, and constraints accept only automatic axes"
_SPLITS = "so an argument that {} shard_map splits over it must already be split"
_MOST_RELATED = 4


class _Use(NamedTuple):
    """A use of a mesh that its explicit axes may forbid.

    Attributes:
        mesh: the mesh.
        name: the axis that must be automatic for this use; None if there is none.
        site: the place.
        why: the clause of the message that says why the axis must be automatic.
        context: the context of the use.
    """

    mesh: Mesh
    name: str | None
    site: Site
    why: str
    context: Context


@rule("AX215", Severity.ERROR, state="preview")
def explicit_axis(view: FileView) -> Iterator[Finding]:
    """Reports uses that explicit axes forbid: at the mesh if it is explicit by default, otherwise at the use."""
    if not holds(_EXPLICIT, view.jax_version):
        return
    uses, makers = view.solution.once_of_records("uses of automatic axes", _uses_by_mesh)
    for site, found in uses.items():
        maker = makers[site]
        if maker.guarded:
            continue
        by_default = _is_default(maker)
        places: dict[tuple[Site, str], list[_Use]] = defaultdict(list)
        for use in found:
            if use.why != _SPLITS or holds(_COMPARED, view.jax_version):
                places[(use.site, use.why)].append(use)
        wrong = [
            certain((use, use.context, use.name in use.mesh.explicit) for use in group) for group in places.values()
        ]
        faults = [use for use in wrong if use is not None]
        if by_default and faults and view.is_here(site):
            yield _at_mesh(view, maker, faults)
        elif not by_default:
            yield from (_at_use(view, use) for use in faults if view.is_here(use.site))


def _uses_by_mesh(solution: Solution) -> tuple[dict[Site, list[_Use]], dict[Site, ApiCall]]:
    """Returns the uses of meshes and the calls that create meshes, both by the site of the creating call."""
    makers: dict[Site, ApiCall] = {}
    uses: dict[Site, list[_Use]] = defaultdict(list)
    for records in solution.by_file.values():
        makers.update({call.call: call for call in records.calls if call.dotted in MESHES})
        for use in _uses(records.calls):
            uses[use.mesh.site].append(use)
        for one in records.mapped_calls:
            mesh, specs = one.binder.mesh, one.binder.argument("in_specs")
            if one.binder.kind != "shard_map" or not one.visible or not isinstance(mesh, Mesh) or specs is None:
                continue
            given = Seq("tuple", tuple([arg.value for arg in one.args]))
            name = _first_split(specs.value, given) if one.exact else None
            uses[mesh.site].append(_Use(mesh, name, one.call, _SPLITS, one.context))
    return {site: found for site, found in uses.items() if site in makers}, makers


def _uses(calls: list[ApiCall]) -> Iterator[_Use]:
    for call in calls:
        sharding = argument_of(call.args, "shardings", 1) if call.dotted == CONSTRAINT and not call.guarded else None
        mesh, spec = sharding_parts(sharding.value) if sharding is not None else (None, None)
        if sharding is None or not isinstance(mesh, Mesh) or not isinstance(spec, Spec):
            continue
        # If a mesh is current, a constraint with explicit axes is an assertion.
        name = next((name.value for name, _ in spec_names(spec)), None) if call.mesh == NO_MESH else None
        yield _Use(mesh, name, sharding.site or call.call, _CONSTRAINS, call.context)


def _first_split(spec: Value, value: Value) -> str | None:
    """Returns the first axis over which a spec splits an array that certainly is not split yet."""
    if isinstance(spec, Spec):
        names = [name.value for name, _ in spec_names(spec)]
        return names[0] if names and not spec.open and _is_whole(value) else None
    if isinstance(spec, Seq) and isinstance(value, Seq) and len(spec.items) == len(value.items) and not spec.open:
        pairs = zip(spec.items, value.items, strict=True)
        return next((name for one, part in pairs if (name := _first_split(one, part)) is not None), None)
    if isinstance(spec, Dict) and isinstance(value, Dict):
        parts = [(one, value.get(key)) for key, one in spec.items]
        names = [_first_split(one, part) for one, part in parts if part is not None]
        return next((name for name in names if name is not None), None)
    return None


def _is_whole(value: Value) -> bool:
    """Returns whether a tree has an array that certainly is not split yet."""
    if isinstance(value, (Seq, Dict)):
        return any(_is_whole(item[1] if isinstance(item, tuple) else item) for item in value.items)
    return isinstance(value, Data) and is_unplaced(value)


def _is_default(maker: ApiCall) -> bool:
    """Returns whether a call leaves the types of its axes to JAX."""
    row = MESHES[maker.dotted]
    if row.axis_types is None:
        return True
    given = argument_of(maker.args, row.axis_types, row.parameters.index(row.axis_types))
    return given is None or given.value == Const(None)


def _at_mesh(view: FileView, maker: ApiCall, faults: list[_Use]) -> Finding:
    use = faults[0]
    used = "the axis is used here"
    related = [Related(view.path_of(one.site), view.span(one.site), used) for one in faults[:_MOST_RELATED]]
    message = f'axis "{use.name}" of this mesh is explicit by default as of JAX 0.9.0, {use.why.format("a")}'
    return Finding(view.span(maker.call), message, _made_automatic(view, maker), tuple(related))


def _at_use(view: FileView, use: _Use) -> Finding:
    message = f'axis "{use.name}" of the mesh is explicit, {use.why.format("this")}'
    return Finding(view.span(use.site), message, (), mesh_place(view, use.mesh))


def _made_automatic(view: FileView, maker: ApiCall) -> tuple[Fix, ...]:
    """Returns the fix that declares the axes automatic, as they were before JAX 0.9.0."""
    mesh, name = maker.result, spelled(view, f"{_TYPE}.Auto")
    last = _last(maker.args)
    if not isinstance(mesh, Mesh) or name is None or last is None or not view.is_here(last):
        return ()
    types = f"({name},)" if len(mesh.names) == 1 else f"({name},) * {len(mesh.names)}"
    end = view.span(last).end
    return (Fix("make the axes automatic", (FileEdit(view.path, Edit(Span(end, end), f", axis_types={types}")),)),)


def _last(args: tuple[Arg, ...]) -> Site | None:
    return (args[-1].whole or args[-1].site) if args else None
