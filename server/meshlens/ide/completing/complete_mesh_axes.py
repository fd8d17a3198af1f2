"""Completes mesh axes: in the entries of a spec, in `mesh.shape["…"]`, and in a map's `axis_names`."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Mesh
from meshlens.ide.completing.completing import Completion, Place, axis_names
from meshlens.ide.completing.known_names import KnownMesh, meshes_of, names_of_workspace, spec_names_of
from meshlens.ide.completing.spelled import uses_jax, value_of
from meshlens.ide.shown.devices import mesh_sizes
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.meshes import PARTITION_SPEC, SPECS


def mesh_axes_here(place: Place) -> tuple[Completion, ...] | None:
    """Returns the axes of the mesh used here if a mesh axis is expected; otherwise None."""
    opening = place.typed.openings[0]
    if opening.bracket == "[" and opening.callee.endswith(".shape"):
        owner = opening.callee.removesuffix(".shape")
        found = _called(place, owner)
        if found or ("mesh" in owner.lower() and uses_jax(place.view.source)):
            return axis_names(place, _named(place, found))
        return None
    if not place.calls:
        return None
    call = place.calls[0]
    if call.dotted == PARTITION_SPEC:
        return axis_names(place, _named(place, mesh_in_reach(place)))
    row = BINDERS.get(call.dotted)
    if row is not None and row.mesh and row.names_from == "mesh" and call.parameter(row.parameters) == row.names:
        return axis_names(place, _named(place, mesh_in_reach(place)))
    return None


def _named(place: Place, meshes: tuple[KnownMesh, ...]) -> Iterator[tuple[str, str]]:
    known_here = meshes or tuple(known for view in place.views for known in meshes_of(view))
    for known in known_here:
        for name, size in mesh_sizes(known.mesh).items():
            words = "mesh axis" + (f" of {known.name}" if known.name else "")
            yield name, words + (f", size {size}" if size is not None else "")
    if not meshes:
        for view in place.views:
            yield from ((name, "used in another spec") for name in spec_names_of(view))
    if not known_here:
        for name, words in names_of_workspace(place.view.solution).items():
            if words == "mesh axis":
                yield name, words


def mesh_in_reach(place: Place) -> tuple[KnownMesh, ...]:
    """Returns the meshes that may be passed to a call around the cursor; empty if unknown."""
    for call in place.calls:
        row = BINDERS.get(call.dotted)
        if row is not None and row.mesh:
            position = row.parameters.index(row.mesh) if row.mesh in row.parameters else None
            given = call.argument(row.mesh, position)
        elif "mesh" in SPECS.get(call.dotted, ()):
            given = call.argument("mesh", SPECS[call.dotted].index("mesh"))
        else:
            continue
        if given is not None:
            text = place.view.source[given.value.start : given.value.end]
            return _called(place, text.decode("utf-8", "replace"))
    return ()


def _called(place: Place, name: str) -> tuple[KnownMesh, ...]:
    """Returns the meshes that a variable with this name may hold."""
    for view in place.views:
        found = tuple(known for known in meshes_of(view) if known.name == name.rpartition(".")[2])
        if found:
            return found
        value = value_of(view, name)
        if isinstance(value, Mesh) and mesh_sizes(value):
            return (KnownMesh(name, value),)
    return ()
