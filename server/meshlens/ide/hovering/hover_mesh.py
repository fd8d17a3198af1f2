"""The hover of a mesh: its axes with their sizes, the number of devices, and a picture."""

from __future__ import annotations

from meshlens.axes.data.arrays import product
from meshlens.axes.domain.values import Const, Mesh
from meshlens.ide.hovering.device_words import here, part_of
from meshlens.ide.hovering.prose import Prose, counted
from meshlens.ide.shown.devices import mesh_sizes
from meshlens.ide.shown.mesh_devices import device_ids
from meshlens.ide.shown.mesh_picture import as_svg, as_text, drawing_of


def mesh_text(prose: Prose, mesh: Mesh) -> str | None:
    """Returns the description of a mesh; None if none of its axis names is known."""
    sizes = mesh_sizes(mesh)
    if not sizes:
        return None
    unknown = len(sizes) != len(mesh.names) or mesh.open
    axes = [f"{prose.axis(name)} ({size if size is not None else '?'})" for name, size in sizes.items()]
    if unknown:
        axes.append("others unknown")
    total = product(mesh.sizes)
    devices = None if total is None else _devices(prose, mesh, total)
    kind = "AbstractMesh" if mesh.kind == "AbstractMesh" else "Mesh"
    listed = " × ".join(axes) if not unknown else ", ".join(axes)
    text = f"{kind} with {'axis' if len(axes) == 1 else 'axes'} {listed}"
    found = here(prose.view.devices) if mesh.kind == "Mesh" else None
    ending = f"; {found}." if found else "."
    text = f"{text}: {devices}{ending}" if devices else f"{text}{ending}"
    return prose.page(text, picture(prose, mesh), _numbers(prose, mesh), _made(prose, mesh))


def _devices(prose: Prose, mesh: Mesh, total: int) -> str:
    """Returns the number of devices of a mesh in words; an abstract mesh has no devices of its own."""
    return part_of(prose.view.devices, total) if mesh.kind == "Mesh" else counted(total, "device")


def picture(prose: Prose, mesh: Mesh, shards: tuple[tuple[str, int], ...] | None = None) -> str | None:
    """Returns the picture of the mesh for this client; None if names or sizes are unknown.

    Args:
        prose: the writing style.
        mesh: the mesh.
        shards: the shard of an array on each device.
    """
    drawing = drawing_of(mesh, device_ids(prose.view, mesh), shards)
    if drawing is None:
        return None
    if prose.style not in ("svg", "html"):
        return prose.drawing(as_text(drawing))
    return f"![mesh]({as_svg(drawing, prose.colors)})"


def _numbers(prose: Prose, mesh: Mesh) -> str | None:
    """Returns an explanation of the numbers in the picture, unless they are device ids."""
    if drawing_of(mesh) is None or mesh.kind != "Mesh" or device_ids(prose.view, mesh) is not None:
        return None
    target, report = prose.view.devices.target, prose.view.devices.detected
    if target is None and (report is None or not report.devices):
        return None
    return "The numbers are positions in the mesh; the order of the devices is unknown here."


def _made(prose: Prose, mesh: Mesh) -> str:
    return f"Created at {prose.place(mesh.site)}."


def missing_axes(mesh: Mesh, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names that a mesh certainly lacks."""
    if mesh.open or mesh.kind == "pallas":
        return ()
    known = tuple(name.value for name in mesh.names if isinstance(name, Const))
    return tuple(name for name in names if name not in known) if len(known) == len(mesh.names) else ()
