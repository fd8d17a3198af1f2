"""The hover of a spec: the mesh axes of each dimension, and the axes over which it replicates."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.data.arrays import Sizes
from meshlens.axes.data.sharded_shapes import part_of
from meshlens.axes.domain.values import Arg, Dict, Made, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.mapped_values import is_shared
from meshlens.checking.chosen_specs import ChosenSpec, chosen_specs
from meshlens.ide.hovering.hover_mesh import mesh_text, missing_axes, picture
from meshlens.ide.hovering.prose import Prose, counted
from meshlens.ide.shown.devices import mesh_devices, mesh_sizes, spec_names
from meshlens.ide.shown.shards import shards_of
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_SHARDING = "jax.sharding.NamedSharding"


def spec_text(prose: Prose, spec: Spec, mesh: Mesh | None = None) -> str | None:
    """Returns the description of a spec; None if none of its entries is known.

    Args:
        prose: the writing style.
        spec: the spec.
        mesh: the mesh that it is used with; if None, it is found from the uses in this file.
    """
    leaves = prose.view.solution.once_of_records("leaves by spec", _chosen).get(spec.site, ())
    found = [mesh] if mesh is not None else list(meshes_of(prose.view, spec.site))
    if not found:
        found = list({one.mesh.site: one.mesh for one in leaves if isinstance(one.mesh, Mesh)}.values())
    known = found[0] if len(found) == 1 else None
    sizes = mesh_sizes(known) if known is not None else {}
    keywords = [prose.code(prose.view.text(arg.whole)) for arg in _keywords(prose.view, spec) if arg.whole]
    if not spec.open and not keywords and all(is_shared(entry) for entry in spec.entries):
        text = "PartitionSpec: replicated, so every device holds the whole array."
        return prose.page(text, *_chosen_for(prose, leaves), _mesh_line(prose, known))
    if not any(spec_names(entry) or is_shared(entry) for entry in spec.entries):
        return None
    lines = [_entry(prose, spec, place, sizes) for place in range(len(spec.entries))]
    lines.append("further dimensions: " + ("unknown here" if spec.open else "not split"))
    return prose.page(
        "PartitionSpec: how each dimension of the array is split.",
        prose.items([*lines, *keywords]),
        *_chosen_for(prose, leaves),
        _replicated(prose, spec, known) if not keywords else None,
        *_missing(prose, spec, found),
        _mesh_line(prose, known),
        *_shards(prose, spec, known),
    )


_MOST_LEAVES = 8


def _chosen(solution: Solution) -> dict[Site, tuple[ChosenSpec, ...]]:
    """Returns the leaves for which each spec was chosen by path, wherever the tree is used."""
    found: dict[Site, dict[str, ChosenSpec]] = {}
    for one in chosen_specs(solution):
        found.setdefault(one.spec.site, {}).setdefault(one.leaf.path, one)
    return {site: tuple(specs.values()) for site, specs in found.items()}


def _chosen_for(prose: Prose, chosen: tuple[ChosenSpec, ...]) -> Iterator[str]:
    """Yields the arrays for which a spec was chosen by path, with the shape of each device's part."""
    lines: list[str] = []
    for spec, (path, shape), mesh, _ in chosen[:_MOST_LEAVES]:
        if shape is not None:
            part = part_of(shape, spec, mesh)
            on_each = f", {_sizes(part)} on each device" if part is not None and part != shape else ""
            lines.append(f"{prose.code(path)}: {_sizes(shape)}{on_each}")
    if len(chosen) > _MOST_LEAVES:
        lines.append(f"{len(chosen) - _MOST_LEAVES} more")
    if lines:
        yield "Chosen by path for these arrays, one of each numbered group:"
        yield prose.items(lines)


def _sizes(shape: Sizes) -> str:
    return " × ".join("?" if size is None else str(size) for size in shape) if shape else "a scalar"


def _shards(prose: Prose, spec: Spec, mesh: Mesh | None) -> Iterator[str]:
    """Yields a picture that shows which block of the array is on which device."""
    shards = shards_of(spec, mesh) if mesh is not None else None
    drawn = picture(prose, mesh, shards) if mesh is not None and shards is not None else None
    if drawn is not None:
        yield "The block of the array that each device holds:"
        yield drawn


def sharding_text(prose: Prose, sharding: Made) -> str | None:
    """Returns the description of a `NamedSharding`; None for other values, or if its mesh and spec are unknown."""
    if sharding.dotted != _SHARDING:
        return None
    given = dict(sharding.arguments)
    mesh, spec = given.get("mesh"), given.get("spec")
    if isinstance(spec, Spec):
        return spec_text(prose, spec, mesh if isinstance(mesh, Mesh) else None)
    return mesh_text(prose, mesh) if isinstance(mesh, Mesh) else None


def _entry(prose: Prose, spec: Spec, place: int, sizes: dict[str, int | None]) -> str:
    entry = spec.entries[place]
    names = spec_names(entry)
    if is_shared(entry) or entry == Seq("tuple", ()):
        return f"dimension {place}: not split"
    if not names and place >= len(spec.sites):
        return f"dimension {place}: unknown here"
    if not names:
        return f"dimension {place}: given by {prose.code(prose.view.text(spec.sites[place]))}"
    parts = {name: f" ({counted(size, 'part')})" for name, size in sizes.items() if size is not None}
    shown = " and ".join(prose.axis(name) + parts.get(name, "") for name in names)
    return f"dimension {place} → {shown}"


def _keywords(view: FileView, spec: Spec) -> tuple[Arg, ...]:
    """Returns the spec's keyword arguments, which name axes for no particular dimension: `unreduced={"data"}`."""
    records = view.solution.by_file.get(spec.site.path)
    call = next((call for call in records.calls if call.call == spec.site), None) if records is not None else None
    return tuple(arg for arg in call.args if arg.label in ("unreduced", "reduced")) if call is not None else ()


def _replicated(prose: Prose, spec: Spec, mesh: Mesh | None) -> str | None:
    """Returns the mesh axes along which every device holds the same data, in words."""
    used = {name for entry in spec.entries for name in spec_names(entry)}
    if mesh is None or spec.open or mesh.open or missing_axes(mesh, tuple(used)):
        return None
    rest = [name for name in mesh_sizes(mesh) if name not in used]
    return f"Replicated along {prose.axes(rest)}." if rest else None


def _missing(prose: Prose, spec: Spec, meshes: list[Mesh]) -> Iterator[str]:
    names = tuple(name for entry in spec.entries for name in spec_names(entry))
    for mesh in meshes:
        missing = missing_axes(mesh, names)
        if missing:
            yield f"The mesh at {prose.place(mesh.site)} has no axis {prose.axes(missing)}."


def _mesh_line(prose: Prose, mesh: Mesh | None) -> str | None:
    if mesh is None:
        return None
    axes = ", ".join(prose.axis(name) for name in mesh_sizes(mesh))
    devices = mesh_devices(mesh)
    return f"Mesh: {axes}{f', {devices}' if devices else ''} ({prose.place(mesh.site)})."


def meshes_of(view: FileView, spec: Site) -> Iterator[Mesh]:
    """Yields the meshes that a spec is used with in this file."""
    found: dict[Site, Mesh] = {}
    for call in view.records.calls:
        if call.dotted == _SHARDING and isinstance(call.result, Made):
            given = dict(call.result.arguments)
            if _holds(given.get("spec"), spec) and isinstance(mesh := given.get("mesh"), Mesh):
                found.setdefault(mesh.site, mesh)
    for binding in view.records.bindings:
        mesh = binding.binder.mesh
        if isinstance(mesh, Mesh) and any(
            _holds(arg.value, spec) for name, arg in binding.binder.arguments if name in ("in_specs", "out_specs")
        ):
            found.setdefault(mesh.site, mesh)
    yield from found.values()


def _holds(value: Value | None, spec: Site) -> bool:
    if isinstance(value, Spec):
        return value.site == spec
    if isinstance(value, Seq):
        return any(_holds(item, spec) for item in value.items)
    return isinstance(value, Dict) and any(_holds(item, spec) for _, item in value.items)
