"""The hover of a mesh: its axes with their sizes, how many devices it has, and a picture."""

from __future__ import annotations

from meshlens.axes.arrays import product
from meshlens.axes.values import Const, Mesh
from meshlens.ide.device_words import here
from meshlens.ide.devices import mesh_sizes
from meshlens.ide.mesh_picture import left_out, mesh_grid, mesh_svg
from meshlens.ide.prose import Prose, counted


def mesh_text(prose: Prose, mesh: Mesh) -> str | None:
    """What to say of a mesh; None while not one of its axis names is known."""
    sizes = mesh_sizes(mesh)
    if not sizes:
        return None
    unknown = len(sizes) != len(mesh.names) or mesh.open
    axes = [f"{prose.axis(name)} ({size if size is not None else '?'})" for name, size in sizes.items()]
    if unknown:
        axes.append("axes that are not known here")
    devices = counted(total, "device") if (total := product(mesh.sizes)) is not None else None
    kind = "AbstractMesh" if mesh.kind == "AbstractMesh" else "Mesh"
    listed = " × ".join(axes) if not unknown else ", ".join(axes)
    text = f"{kind} with {'axis' if len(axes) == 1 else 'axes'} {listed}"
    found = here(prose.view.devices) if mesh.kind == "Mesh" else None
    ending = f"; {found}." if found else "."
    text = f"{text}: {devices}{ending}" if devices else f"{text}{ending}"
    return prose.page(text, *_picture(prose, mesh), _made(prose, mesh))


def _picture(prose: Prose, mesh: Mesh) -> list[str | None]:
    outer = left_out(mesh)
    note = None
    if outer:
        axes = " × ".join(f"{prose.axis(name)} ({size})" for name, size in outer)
        note = f"Drawn for one position along {axes}."
    image = mesh_svg(mesh) if prose.style == "svg" else None
    if image is not None:
        return [f"![mesh]({image})", note]
    grid = mesh_grid(mesh)
    return [prose.drawing(grid), note] if grid is not None else []


def _made(prose: Prose, mesh: Mesh) -> str:
    return f"Made at {prose.place(mesh.site)}."


def missing_axes(mesh: Mesh, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a mesh certainly lacks."""
    if mesh.open or mesh.kind == "pallas":
        return ()
    known = tuple(name.value for name in mesh.names if isinstance(name, Const))
    return tuple(name for name in names if name not in known) if len(known) == len(mesh.names) else ()
