"""The hover of an axis name: its binders, its uses, and the meshes that have it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from meshlens.axes.domain.values import Binder, Const, Mesh, Site, Spec
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.hovering.environment_words import operand_name
from meshlens.ide.hovering.hover_spec import meshes_of
from meshlens.ide.hovering.prose import MOST_PLACES, Prose, counted
from meshlens.ide.naming.near_misses import near_misses
from meshlens.ide.shown.devices import devices_of, mesh_sizes, spec_names
from meshlens.jaxapi.meshes import MESHES, PARTITION_SPEC
from meshlens.project.solving.solution import Solution

_NAMING = ("axis_name", "axis_names", "axis_env")
_MOST_NAMES = 3


@dataclass(slots=True)
class _Maps:
    """The uses of one axis name in the workspace, and its binders by site."""

    uses: list[AxisUse] = field(default_factory=list)
    binders: dict[Site, Binder] = field(default_factory=dict)


@dataclass(slots=True)
class _Layouts:
    """The meshes and specs of the workspace that contain one axis name, by site."""

    meshes: dict[Site, Mesh] = field(default_factory=dict)
    specs: dict[Site, Spec] = field(default_factory=dict)


def axis_text(prose: Prose, site: Site, name: Const | None) -> str | None:
    """Returns the hover of an axis name; None for an expression that is not an axis name.

    Args:
        prose: the writing style.
        site: the expression under the cursor.
        name: its value, if known.
    """
    solution = prose.view.solution
    names = [name.value] if name is not None and isinstance(name.value, str) else _names_at(solution, site)
    sites = {site} | ({name.origin} if name is not None and name.origin is not None else set())
    texts = []
    for one in names[:_MOST_NAMES]:
        texts.append(_text(prose, one, solution.once(f"hover-axis {one}", partial(_maps, name=one)), sites))
    return prose.page(*texts) or None


def _names_at(solution: Solution, site: Site) -> list[str]:
    """Returns the axis names that an expression, such as a parameter, stands for on any route."""
    found: dict[str, None] = {}
    for records in solution.by_file.values():
        for use in records.uses:
            if use.axis == site or (isinstance(use.name, Const) and use.name.via == site):
                name = literal_name(use.name)
                found.update({name: None} if name is not None else {})
        for binding in records.bindings:
            if any(arg.site == site for key, arg in binding.binder.arguments if key in _NAMING):
                found.update((const.value, None) for const in binding.binder.names)
    return list(found)


def _text(prose: Prose, name: str, group: _Maps, sites: set[Site]) -> str | None:
    uses = [use for use in group.uses if _stems_from(use.name, sites) or use.axis in sites]
    binders = {site: binder for site, binder in group.binders.items() if _binds_from(binder, name, sites)}
    on_mesh = not (uses or binders) or any(one.mesh is not None for one in _all_binders(binders, uses, name))
    layout = (
        prose.view.solution.once(f"hover-mesh-axis {name}", partial(_layouts, name=name)) if on_mesh else _Layouts()
    )
    meshes = {site: mesh for site, mesh in layout.meshes.items() if _any_stems_from(mesh.names, sites)}
    specs = [spec for spec in layout.specs.values() if _any_stems_from(_flat(spec), sites) or sites & {*spec.sites}]
    if not (uses or binders or meshes or specs):
        return None
    for use in uses:
        bound_by = use.context.env.binder_of(name)
        if bound_by is not None:
            binders.setdefault(bound_by.site, bound_by)
    for spec in specs:
        meshes.update({mesh.site: mesh for mesh in meshes_of(prose.view, spec.site) if name in mesh_sizes(mesh)})
    for mesh_site in meshes:
        for binder in group.binders.values():
            if isinstance(binder.mesh, Mesh) and binder.mesh.site == mesh_site:
                binders.setdefault(binder.site, binder)
    for binder in binders.values():
        if isinstance(binder.mesh, Mesh) and name in mesh_sizes(binder.mesh):
            meshes.setdefault(binder.mesh.site, binder.mesh)
    of_binders = [use for use in group.uses if (found := use.context.env.binder_of(name)) and found.site in binders]
    is_mesh_axis = bool(meshes or specs)
    all_specs = list(layout.specs.values()) if is_mesh_axis else []
    return prose.page(
        f"{'Mesh axis' if is_mesh_axis else 'Axis name'} {prose.axis(name)}.",
        _mesh_words(prose, name, meshes),
        _bound_words(prose, name, binders, has_uses=bool(uses or of_binders), is_mesh_axis=is_mesh_axis),
        _use_words(prose, name, [*uses, *of_binders], binders),
        _spec_words(prose, all_specs),
    )


def _stems_from(value: object, sites: set[Site]) -> bool:
    return isinstance(value, Const) and (value.origin in sites or value.via in sites)


def _any_stems_from(values: Iterable[object], sites: set[Site]) -> bool:
    return any(_stems_from(value, sites) for value in values)


def _binds_from(binder: Binder, name: str, sites: set[Site]) -> bool:
    if any(one.value == name and _stems_from(one, sites) for one in binder.names):
        return True
    return any(arg.site in sites for keyword, arg in binder.arguments if keyword in _NAMING)


def _flat(spec: Spec) -> Iterator[object]:
    for entry in spec.entries:
        yield from getattr(entry, "items", (entry,)) if not isinstance(entry, Const) else (entry,)


def _mesh_words(prose: Prose, name: str, meshes: dict[Site, Mesh]) -> str | None:
    if not meshes:
        return None
    found = []
    for site, mesh in list(meshes.items())[:MOST_PLACES]:
        size = mesh_sizes(mesh).get(name)
        found.append(f"{prose.place(site)}{f', size {size}' if size is not None else ''}")
    return f"Defined by the mesh{'es' if len(found) > 1 else ''} at {'; '.join(found)}."


def _bound_words(
    prose: Prose, name: str, binders: dict[Site, Binder], *, has_uses: bool, is_mesh_axis: bool
) -> str | None:
    if not binders:
        return _unbound_words(prose, name) if has_uses or not is_mesh_axis else None
    lines = []
    for binder in list(binders.values())[:MOST_PLACES]:
        devices = devices_of(prose.view, binder)
        words = f"{prose.code(binder.kind)} of {operand_name(prose, binder)} ({prose.place(binder.site)})"
        lines.append(f"{words}, {devices}" if devices else words)
    more = len(binders) - len(lines)
    lines += [f"and {more} more"] if more > 0 else []
    if len(lines) == 1:
        return f"Bound by {lines[0]}."
    return f"Bound by{chr(10) if prose.is_plain else chr(10) * 2}{prose.items(lines)}"


def _unbound_words(prose: Prose, name: str) -> str:
    """Returns a sentence that says that no map binds an axis, and names similar axes bound around its collectives."""
    meant = [
        f"did you mean {prose.axis(one)} ({prose.places(maps)})?"
        for one, maps in near_misses(prose.view.solution).meant.get(name, {}).items()
    ]
    return "; ".join(("No map binds this axis", *meant)) if meant else "No map binds this axis."


def _use_words(prose: Prose, name: str, uses: list[AxisUse], binders: dict[Site, Binder]) -> str | None:
    sites: dict[str, list[Site]] = defaultdict(list)
    for use in uses:
        if use.call not in sites[use.kind]:
            sites[use.kind].append(use.call)
    if not sites:
        return _unused_words(prose, name, binders) if binders else None
    kinds = [f"{prose.code(kind)} ({prose.places(places)})" for kind, places in sites.items()]
    shown, more = kinds[:MOST_PLACES], len(kinds) - MOST_PLACES
    return f"Used by {', '.join(shown)}{f' and {more} more' if more > 0 else ''}."


def _unused_words(prose: Prose, name: str, binders: dict[Site, Binder]) -> str:
    """Returns a sentence that says that no collective uses an axis, and names similar unbound axes used in its maps."""
    said: dict[str, list[Site]] = defaultdict(list)
    for binder in binders:
        for one, sites in near_misses(prose.view.solution).of_maps.get((binder, name), {}).items():
            said[one] += sites
    close = [f"{prose.axis(one)} is not bound ({prose.places(sites)})" for one, sites in said.items()]
    return "; ".join(("No collective uses this axis", *close)) + "."


def _spec_words(prose: Prose, specs: list[Spec]) -> str | None:
    if not specs:
        return None
    here = [spec.site for spec in specs if prose.view.is_here(spec.site)]
    others = len(specs) - len(here)
    if not here:
        return f"Used in {counted(others, 'spec')} in other files."
    more = f" and in {others} more in other files" if others else ""
    return f"Used in {counted(len(here), 'spec')} ({prose.places(here)}){more}."


def _all_binders(binders: dict[Site, Binder], uses: list[AxisUse], name: str) -> Iterator[Binder]:
    yield from binders.values()
    yield from (binder for use in uses if (binder := use.context.env.binder_of(name)) is not None)


def _maps(solution: Solution, name: str) -> _Maps:
    found = _Maps()
    for records in solution.by_file.values():
        found.uses += [use for use in records.uses if type(use.name) is Const and use.name.value == name]
        for binding in records.bindings:
            if any(const.value == name for const in binding.binder.names):
                found.binders.setdefault(binding.binder.site, binding.binder)
    return found


def _layouts(solution: Solution, name: str) -> _Layouts:
    found = _Layouts()
    for records in solution.by_file.values():
        for call in records.calls:
            result = call.result
            if type(result) is Spec and call.dotted == PARTITION_SPEC:
                if any(name in spec_names(entry) for entry in result.entries):
                    found.specs.setdefault(call.call, result)
            elif type(result) is Mesh and call.dotted in MESHES and name in mesh_sizes(result):
                found.meshes.setdefault(call.call, result)
    return found
