"""Shapes before and after a spec splits an array over a mesh."""

from __future__ import annotations

from meshlens.axes.data.arrays import Sizes
from meshlens.axes.domain.values import Const, Mesh, Seq, Spec, Value


def size_of_axis(mesh: Value | None, name: str) -> int | None:
    """Returns the size of a mesh axis; None if it is unknown or the mesh has no such axis."""
    if not isinstance(mesh, Mesh) or mesh.open or mesh.sizes is None or len(mesh.sizes) != len(mesh.names):
        return None
    found = [size for own, size in zip(mesh.names, mesh.sizes, strict=True) if own == Const(name)]
    return found[0] if len(found) == 1 and found[0] != -1 else None


def parts_along(mesh: Value | None, entry: Value) -> int | None:
    """Returns how many parts a spec's entry splits a dimension into; None if unknown."""
    if isinstance(entry, Const) and entry.value is None:
        return 1
    names = entry.items if isinstance(entry, Seq) and not entry.open else (entry,)
    total = 1
    for name in names:
        size = size_of_axis(mesh, name.value) if isinstance(name, Const) and isinstance(name.value, str) else None
        if size is None:
            return None
        total *= size
    return total


def part_of(shape: Sizes, spec: Spec, mesh: Value | None) -> Sizes | None:
    """Returns the shape of each device's part; None if the spec is unknown or does not fit."""
    if spec.open or len(spec.entries) > len(shape):
        return None
    found: list[int | None] = []
    for place, size in enumerate(shape):
        parts = parts_along(mesh, spec.entries[place]) if place < len(spec.entries) else 1
        fits = size is not None and parts and size % parts == 0
        found.append(size // parts if fits and size is not None and parts else None)
    return tuple(found)


def whole_of(shape: Sizes, spec: Spec, mesh: Value | None) -> Sizes | None:
    """Returns the shape of an array, given that of each device's part; None if the spec is unknown or does not fit."""
    if spec.open or len(spec.entries) > len(shape):
        return None
    found: list[int | None] = []
    for place, size in enumerate(shape):
        parts = parts_along(mesh, spec.entries[place]) if place < len(spec.entries) else 1
        found.append(size * parts if size is not None and parts is not None else None)
    return tuple(found)
