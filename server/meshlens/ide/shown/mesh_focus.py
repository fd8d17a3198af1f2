"""The picture for the cursor: on a spec, an array split over a mesh; on a collective, groups of devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from meshlens.axes.domain.values import Binder, Made, Mesh, Spec, Value
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.cursor import Part, arguments_of, parts_at
from meshlens.ide.hovering.hover_spec import meshes_of
from meshlens.ide.shown.devices import axis_size, mesh_sizes
from meshlens.ide.shown.mesh_devices import device_ids
from meshlens.ide.shown.mesh_list import Axis
from meshlens.ide.shown.shards import shards_of
from meshlens.ide.values_here import result_of
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.view import FileView

_MOST_DEVICES = 256
_TALKS = frozenset(row.name for row in COLLECTIVES.values() if row.communicates)


@dataclass(frozen=True, slots=True)
class Focus:
    """A mesh with contents for each of its devices.

    Attributes:
        kind: "array" or "collective".
        label: the source of the spec or collective.
        detail: a sentence that explains the cells.
        axes: the axes of the mesh, with their sizes.
        devices: the ids of its devices, row by row; None if unknown.
        cells: for each device, row by row, its contents and the number of its group; devices in one group hold the same
            block or communicate.
    """

    kind: str
    label: str
    detail: str
    axes: tuple[Axis, ...]
    devices: tuple[int, ...] | None
    cells: tuple[tuple[str, int], ...]


def focus_at(view: FileView, offset: int) -> Focus | None:
    """Returns the picture for a cursor; None if there is no spec or collective with a known mesh."""
    parts = parts_at(view, offset)
    for part in parts:
        if part.kind != "call":
            continue
        found = _of_spec(view, part) or _of_collective(view, part)
        if found is not None:
            return found
    return None


def _of_spec(view: FileView, part: Part) -> Focus | None:
    value: Value | None = result_of(view, part.site)
    meshes: list[Mesh] = []
    if isinstance(value, Made):
        given = dict(value.arguments)
        value, mesh = given.get("spec"), given.get("mesh")
        meshes = [mesh] if isinstance(mesh, Mesh) else []
    if not isinstance(value, Spec):
        return None
    mesh = next(iter([*meshes, *meshes_of(view, value.site)]), None)
    shards = shards_of(value, mesh) if isinstance(mesh, Mesh) else None
    if mesh is None or not isinstance(mesh, Mesh) or shards is None or len(shards) > _MOST_DEVICES:
        return None
    blocks = len({number for _, number in shards})
    detail = f"{blocks} blocks, one on each device"
    if blocks < len(shards):
        detail = f"{blocks} blocks on {len(shards)} devices; devices with the same number hold the same block"
    return Focus("array", view.text(part.site), detail, _axes(mesh), device_ids(view, mesh), shards)


def _of_collective(view: FileView, part: Part) -> Focus | None:
    arguments = arguments_of(part)
    uses = [use for use in view.records.uses if use.call == part.site or use.axis in arguments]
    names = tuple(dict.fromkeys(name for use in uses if (name := literal_name(use.name)) is not None))
    if not names or uses[0].kind not in _TALKS:
        return None
    for axes, devices in _grounds(view, uses, names):
        sizes = [axis.size or 0 for axis in axes]
        if not 0 < _product(sizes) <= _MOST_DEVICES:
            continue
        groups: dict[tuple[int, ...], int] = {}
        cells = []
        for position in product(*map(range, sizes)):
            key = tuple(at for axis, at in zip(axes, position, strict=True) if axis.name not in names)
            number = groups.setdefault(key, len(groups))
            cells.append((f"group {number}", number))
        over = " and ".join(f'"{name}"' for name in names)
        count = len(groups)
        detail = f"{uses[0].kind} over {over}: {count} group{'' if count == 1 else 's'} of devices that communicate"
        return Focus("collective", view.text(part.site), detail, axes, devices, tuple(cells))
    return None


def _grounds(
    view: FileView, uses: list[AxisUse], names: tuple[str, ...]
) -> Iterator[tuple[tuple[Axis, ...], tuple[int, ...] | None]]:
    """Yields the axes and device ids of each mesh, or of each map without a mesh, that has all these names."""
    binders: dict[Binder, None] = {}
    for use in uses:
        for name in names:
            if (binder := use.context.env.binder_of(name)) is not None:
                binders[binder] = None
    for binder in binders:
        if isinstance(binder.mesh, Mesh) and set(names) <= set(mesh_sizes(binder.mesh)):
            yield _axes(binder.mesh), device_ids(view, binder.mesh)
        elif binder.mesh is None:
            bound = [str(name.value) for name in binder.names]
            if set(names) <= set(bound):
                yield tuple(Axis(name, axis_size(view, binder, name)) for name in bound), None


def _axes(mesh: Mesh) -> tuple[Axis, ...]:
    return tuple(Axis(name, size) for name, size in mesh_sizes(mesh).items())


def _product(sizes: list[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
