"""A spec or `axis_names` names an axis that the mesh does not have.

A `PartitionSpec` may name only axes of its mesh.
Otherwise, `NamedSharding` raises `ValueError: Resource axis: tensor of P(None, 'tensor') is not found in mesh: ('data',
'model')`.
`shard_map` raises `ValueError: shard_map in_specs argument must refer to an axis marked as manual` for a spec, and
`ValueError: jax.shard_map requires axis_names to be a subset of mesh.axis_names` for `axis_names`.

```python
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
rows = NamedSharding(mesh, P("dat", None))
#                            ^^^^^ AX201: the mesh has no axis "dat" (it has "data", "model"); did you mean "data"?
```

becomes

```python
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
rows = NamedSharding(mesh, P("data", None))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from meshlens.axes.domain.specs import possible_specs, sharding_parts, spec_names
from meshlens.axes.domain.values import Arg, Const, Made, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.logical_rules import TO_SHARDINGS, assigned
from meshlens.axes.jax.meshes import takes_mesh_in_force
from meshlens.axes.jax.naming import names_in
from meshlens.axes.jax.new_variables import stops_sharding
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall, Records
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.places import quoted
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.facts.nodes import AnnAssign, Assign, Constant, ListDisplay, TupleDisplay
from meshlens.jaxapi.meshes import (
    CONSTRAINT,
    NAME_MESH_AXES,
    OUT_SHARDING,
    PARTITIONED,
    SETS_FLAX_FLAGS,
    SHARDINGS_OF_METADATA,
    SPECS_OF_METADATA,
    TAKE_SPECS,
)
from meshlens.project.modules import imported_by
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.project.writing.did_you_mean import closest
from meshlens.rules.helpers.rename_axis import write_name
from meshlens.rules.helpers.specs import argument_of, blamed, mesh_axes, mesh_place, written_elsewhere
from meshlens.rules.helpers.spmd_names import spmd_names

_MOST_RELATED = 4
_FEWEST_RULES = 3
"""Minimum number of different specs from one expression for them to count as rules rather than as two modes."""
_Named = tuple[Const, Site, Arg, Value, Context, Spec | None]


class _Start(NamedTuple):
    """The place where a route starts: a function or, if `block` is empty, the top level of a module."""

    path: str
    block: str

    @property
    def is_test(self) -> bool:
        """Returns whether a test runner calls the function."""
        return self.block.rpartition(".")[2].startswith("test")


class _MeshesOfMetadata(NamedTuple):
    """The meshes over which a program shards arrays according to their metadata.

    Attributes:
        of_starts: the meshes by the start of a route; None if some of them are unknown. If the callers of a function
            pass the mesh, it is unknown on a route that starts at the function itself.
        of_files: for each file, the meshes of all routes that start in it or in a file that imports it. Files with an
            unknown mesh are left out. Tests do not count, because each is a separate program.
        is_logical: whether the metadata may name logical axes instead of those of a mesh.
        shards_at_once: whether new nnx variables are sharded over the current mesh, as flax does by default.
    """

    of_starts: Mapping[_Start, tuple[Value, ...] | None]
    of_files: Mapping[str, tuple[Value, ...]]
    is_logical: bool = False
    shards_at_once: bool = True


@rule("AX201", Severity.ERROR)
def axis_not_in_mesh(view: FileView) -> Iterator[Finding]:
    """Compares every axis name in a spec with the axes of the spec's mesh."""
    odd = view.solution.once_of_records("odd-meshes", _odd)
    places: dict[tuple[Site, str], list[_Named]] = defaultdict(list)
    for named in view.solution.once_of_records(f"lacked-names {view.path}", partial(_lacked, path=str(view.path))):
        name, site, arg, *_ = named
        place = blamed(view, name, site, arg.site)
        if place is not None:
            places[(place, name.value)].append(named)
    for (place, text), routes in places.items():
        found = certain((named, named[4], _lacks(place.path, named, text)) for named in routes)
        if found is not None and (_place_of_mesh(found), text) not in odd:
            yield _finding(view, place, found)
    for (mesh_site, text), wrong in odd.items():
        if mesh_site is not None and view.is_here(mesh_site):
            yield _finding_at_mesh(view, mesh_site, text, wrong)


def _lacked(solution: Solution, path: str) -> list[_Named]:
    """Returns every use, in a file's specs, of an axis name that some mesh lacks."""
    used = solution.once_of_records("logical-names", _logical_names)
    meshes = solution.once_of_records("meshes-of-metadata", _meshes_of_metadata)
    records = solution.by_file.get(path) or Records()
    every = [*_named(solution, records), *_of_rules(records, used), *_of_metadata(records, meshes)]
    lacked = {named[0].value for named in every if _lacks(path, named, named[0].value)}
    return [named for named in every if named[0].value in lacked]


def _odd(solution: Solution) -> dict[tuple[Site | None, str], list[_Named]]:
    """Returns the specs with an axis that one mesh lacks and others at the same call have, by mesh and axis."""
    odd: dict[tuple[Site | None, str], list[_Named]] = defaultdict(list)
    for path, records in solution.by_file.items():
        calls: dict[tuple[Site | None, Site, str], list[_Named]] = defaultdict(list)
        for named in _named(solution, records):
            name, site, arg, *_ = named
            calls[(arg.site, site, name.value)].append(named)
        for (_, _, text), routes in calls.items():
            judged = [(named, _lacks(path, named, text)) for named in routes]
            right = {_place_of_mesh(named) for named, verdict in judged if verdict is False}
            for named, verdict in judged if right else ():
                if verdict and _is_certain(named[4]) and _place_of_mesh(named) not in right:
                    odd[(_place_of_mesh(named), text)].append(named)
    return odd


def _is_certain(context: Context) -> bool:
    told = context.guarded or context.expected or context.conditional or context.remote
    return context.sure and not told


def _place_of_mesh(named: _Named) -> Site | None:
    mesh = named[3]
    return mesh.site if isinstance(mesh, Mesh) else None


def _named(solution: Solution, records: Records) -> Iterator[_Named]:
    yield from _of_shardings(solution, records)
    yield from _of_constraints(records)
    yield from _of_maps(records)


def _of_shardings(solution: Solution, records: Records) -> Iterator[_Named]:
    for call in records.calls:
        if call.dotted == "jax.sharding.NamedSharding":
            mesh, _ = sharding_parts(call.result)
            spec = argument_of(call.args, "spec", 1)
        elif call.mesh is not None:
            mesh, spec = call.mesh, argument_of(call.args, *_place_of_spec(call))
        else:
            continue
        if mesh is None or spec is None:
            continue
        yield from _added(call, mesh)
        specs = list(possible_specs(spec.value))
        are_of_rules = len(specs) > 1 and _are_of_rules(solution, [one for one, _ in specs], mesh)
        for one, is_certain in specs:
            for name, site in spec_names(one):
                yield name, site, spec, mesh, _under(call.context, is_certain or are_of_rules), one


def _are_of_rules(solution: Solution, specs: Sequence[Spec], mesh: Value) -> bool:
    """Returns whether specs are all from one table of patterns and specs, and some name axes of the mesh.

    Any of these patterns may match the path of a parameter, so all of these specs are meant for this mesh. If the table
    holds only the entries of the specs, a single expression creates all the specs.
    """
    sites = {one.site for one in specs}
    blocks = {(site.path, site.block) for site in sites if site is not None}
    axes = mesh_axes(mesh) or ()
    if len(blocks) != 1 or not any(name.value in axes for one in specs for name, _ in spec_names(one)):
        return False
    if len(sites) == 1:
        return len(set(specs)) >= _FEWEST_RULES
    ((path, block),) = blocks
    table = solution.facts[path].blocks[block].shape if path in solution.facts else None
    return isinstance(table, (Assign, AnnAssign)) and _maps_patterns(table.value)


def _maps_patterns(table: object) -> bool:
    """Returns whether an expression is a list or tuple of pairs that begin with a text."""
    rows = table.items if isinstance(table, (ListDisplay, TupleDisplay)) else ()
    return bool(rows) and all(
        isinstance(row, TupleDisplay) and len(row.items) == 2 and _is_text(row.items[0]) for row in rows
    )


def _is_text(node: object) -> bool:
    return isinstance(node, Constant) and isinstance(node.value, str)


def _logical_names(solution: Solution) -> tuple[Value, ...]:
    """Returns the logical names that arrays are certainly created with."""
    calls = [call for records in solution.by_file.values() for call in records.calls if call.dotted in PARTITIONED]
    given = [argument_of(call.args, "names", 1) for call in calls if _is_certain(call.context)]
    return tuple(dict.fromkeys([arg.value for arg in given if arg is not None]))


def _of_rules(records: Records, used: tuple[Value, ...]) -> Iterator[_Named]:
    """Yields the mesh axes that rules for logical names assign to arrays."""
    for call in records.calls:
        if call.dotted != TO_SHARDINGS:
            continue
        mesh, rules = argument_of(call.args, "mesh", 1), argument_of(call.args, "rules", 2)
        if mesh is None or rules is None or rules.site is None:
            continue
        for names in used:
            for entry in assigned(names, rules.value) or ():
                for name in names_in(entry)[0]:
                    yield name, name.origin or rules.site, rules, mesh.value, call.context, None


def _meshes_of_metadata(solution: Solution) -> _MeshesOfMetadata:
    """Returns the meshes whose axes are named in array metadata; none if the metadata may name logical axes instead."""
    found: dict[_Start, list[Value | None]] = defaultdict(list)
    shards_at_once = True
    for call in (call for records in solution.by_file.values() for call in records.calls):
        shards_at_once = shards_at_once and not (
            call.dotted in SETS_FLAX_FLAGS and stops_sharding(call.dotted, call.args)
        )
        if call.dotted.endswith("axis_rules") or any(arg.label == "sharding_rules" for arg in call.args):
            return _MeshesOfMetadata({}, {}, is_logical=True)
        asks, mesh = _mesh_of_metadata(call)
        if asks:
            found[_start_of(call)].append(mesh if mesh is not None and mesh_axes(mesh) is not None else None)
    of_starts = {start: _all_known(meshes) for start, meshes in found.items()}
    reached: dict[str, list[Value | None]] = defaultdict(list)
    for start, meshes in found.items():
        for path in () if start.is_test else _files_of_program(solution, start.path):
            reached[path] += meshes
    of_files = {path: known for path, meshes in reached.items() if (known := _all_known(meshes)) is not None}
    return _MeshesOfMetadata(of_starts, of_files, shards_at_once=shards_at_once)


def _all_known(meshes: Sequence[Value | None]) -> tuple[Value, ...] | None:
    known = tuple(dict.fromkeys(mesh for mesh in meshes if mesh is not None))
    return known if None not in meshes else None


def _start_of(call: ApiCall) -> _Start:
    route = call.context.route
    site = route[0].site if route else call.call
    return _Start(site.path, site.block if route and route[0].how == "start" else "")


def _files_of_program(solution: Solution, path: str) -> Iterator[str]:
    """Yields a file and those that it imports, directly or not."""
    seen = {path}
    waiting = [path]
    while waiting:
        yield (file := waiting.pop())
        facts = solution.facts.get(file)
        new = set(imported_by(facts, file, solution.index)) - seen if facts is not None else set()
        seen |= new
        waiting += new


def _mesh_of_metadata(call: ApiCall) -> tuple[bool, Value | None]:
    """Returns whether a call shards arrays according to their metadata, and the mesh over which it shards them."""
    mesh, spec = sharding_parts(call.result)
    if call.dotted in SHARDINGS_OF_METADATA:
        given = argument_of(call.args, "mesh", 1)
        return True, given.value if given is not None else None
    if isinstance(spec, Made) and spec.dotted in SPECS_OF_METADATA:
        return True, mesh
    if call.dotted == CONSTRAINT:
        given = argument_of(call.args, "shardings", 1)
        if given is not None and isinstance(given.value, Made) and given.value.dotted in SPECS_OF_METADATA:
            return True, call.mesh
    return False, None


def _of_metadata(records: Records, meshes: _MeshesOfMetadata) -> Iterator[_Named]:
    """Yields the axes that array metadata names but that none of the metadata's meshes has."""
    for call in () if meshes.is_logical else records.calls:
        parameter = NAME_MESH_AXES.get(call.dotted)
        given = argument_of(call.args, parameter, 1) if parameter is not None else None
        if given is None or given.site is None or not isinstance(given.value, Seq):
            continue
        start = _start_of(call)
        of_file = () if start.is_test else meshes.of_files.get(start.path, ())
        own = meshes.of_starts.get(start) or of_file
        if call.mesh is not None and mesh_axes(call.mesh) is not None and meshes.shards_at_once:
            own = (call.mesh,)
        for name in names_in(given.value)[0] if own else ():
            if not any(name.value in (mesh_axes(mesh) or ()) for mesh in own):
                yield name, name.via or given.site, given, own[0], call.context, None


def _place_of_spec(call: ApiCall) -> tuple[str, int]:
    parameter = TAKE_SPECS.get(call.dotted)
    return (parameter, 1) if parameter is not None else (OUT_SHARDING, -1)


def _of_constraints(records: Records) -> Iterator[_Named]:
    """Yields the axes that a vmap adds to a constraint whose sharding includes a mesh."""
    for call in records.calls:
        sharding = argument_of(call.args, "shardings", 1) if call.dotted == CONSTRAINT else None
        mesh, spec = sharding_parts(sharding.value) if sharding is not None else (None, None)
        if isinstance(mesh, Mesh) and isinstance(spec, Spec):
            yield from _added(call, mesh)


def _added(call: ApiCall, mesh: Value) -> Iterator[_Named]:
    for name, arg in spmd_names(call):
        if arg.site is not None:
            yield name, arg.site, arg, mesh, call.context, None


def _of_maps(records: Records) -> Iterator[_Named]:
    made = ((one.binder, one.context) for one in records.bindings if not takes_mesh_in_force(one.binder))
    called = ((one.binder, one.context) for one in records.calls_of_maps if takes_mesh_in_force(one.binder))
    for binder, context in (*made, *called):
        if binder.kind != "shard_map" or binder.mesh is None:
            continue
        for parameter in ("in_specs", "out_specs"):
            arg = binder.argument(parameter)
            for spec, is_certain in possible_specs(arg.value) if arg is not None else ():
                for name, site in spec_names(spec):
                    assert arg is not None
                    yield name, site, arg, binder.mesh, _under(context, is_certain), spec
        chosen = binder.argument("axis_names")
        if chosen is not None and isinstance(chosen.value, Seq) and chosen.site is not None:
            for name in names_in(chosen.value)[0]:
                yield name, chosen.site, chosen, binder.mesh, context, None


def _under(context: Context, is_certain: bool) -> Context:
    return context if is_certain else context._replace(conditional=True)


def _lacks(path: str, named: _Named, name: str) -> bool | None:
    """Returns whether the mesh lacks the axis; None if its axes are unknown, or if this mesh may never be used here."""
    mesh, context = named[3], named[4]
    axes = mesh_axes(mesh)
    if axes is None or not isinstance(mesh, Mesh):
        return None
    if (context.conditional or context.remote) and mesh.site.path != path:
        return None if name not in axes else False
    return name not in axes


def _finding(view: FileView, place: Site, named: _Named) -> Finding:
    name, site, _, mesh, _, spec = named
    axes = mesh_axes(mesh) or ()
    meant = closest(name.value, axes)
    hint = f'; did you mean "{meant}"?' if meant is not None else ""
    message = f'the mesh has no axis "{name.value}" (it has {quoted(axes)}){hint}'
    used = {other.value for other, _ in spec_names(spec)} if spec is not None else set()
    fixes = write_name(view, place, meant, f'change to "{meant}"') if meant and meant not in used else ()
    if meant is None and len(axes) == 1 and axes[0] not in used:
        title = f'change to "{axes[0]}"'
        fixes = write_name(view, place, axes[0], title, "the mesh may be missing an axis instead")
    written = written_elsewhere(view, place, name.origin, f'"{name.value}" is written here')
    is_far = view.is_here(site) and not view.span(site).contains(view.span(place))
    uses = (Related(view.path, view.span(site), "the spec that uses it"),) if is_far and place == name.origin else ()
    return Finding(view.span(place), message, fixes, (*written, *uses, *mesh_place(view, mesh)))


def _finding_at_mesh(view: FileView, site: Site, name: str, wrong: list[_Named]) -> Finding:
    axes = mesh_axes(wrong[0][3]) or ()
    message = f'a spec for this mesh names axis "{name}", but the mesh has only {quoted(axes)}'
    places = dict.fromkeys(named[1] for named in wrong)
    related = [Related(view.path_of(one), view.span(one), f'axis "{name}" is named here') for one in places]
    return Finding(view.span(site), message, (), tuple(related[:_MOST_RELATED]))
