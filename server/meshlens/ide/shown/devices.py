"""The number of devices of a map and the sizes of its axes, in words."""

from __future__ import annotations

from meshlens.axes.data.arrays import product, shape_of
from meshlens.axes.domain.values import Binder, Const, Mesh, Seq
from meshlens.ide.hovering.device_words import own_devices
from meshlens.ide.hovering.prose import counted
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.view import FileView


def axis_size(view: FileView, binder: Binder, name: str) -> int | None:
    """Returns the size of an axis that a binder binds; None if unknown."""
    if isinstance(binder.mesh, Mesh):
        return mesh_sizes(binder.mesh).get(name)
    given = binder.argument("axis_size")
    if given is not None and isinstance(given.value, Const) and type(given.value.value) is int:
        return given.value.value
    devices = binder.argument("devices")
    shape = shape_of(devices.value) if devices is not None else None
    if devices is not None and not (isinstance(devices.value, Const) and devices.value.value is None):
        return product(shape) if shape is not None else None
    return None


def devices_of(view: FileView, binder: Binder) -> str | None:
    """Returns the devices of a map in words, such as "4 × 2 = 8 devices"; None for a `vmap` or if unknown."""
    if binder.kind not in MAPS_ON_DEVICES:
        return None
    if isinstance(binder.mesh, Mesh):
        return mesh_devices(binder.mesh)
    if binder.kind != "pmap":
        return None
    size = axis_size(view, binder, "")
    if size is not None:
        return counted(size, "device")
    if binder.argument("devices") is not None or binder.argument("backend") is not None:
        return "the given devices"
    words = own_devices(view.devices)
    return f"up to {words}" if words is not None else None


def mesh_devices(mesh: Mesh) -> str | None:
    """Returns the devices of a mesh in words; None if a size is unknown."""
    if mesh.open or mesh.sizes is None or len(mesh.sizes) != len(mesh.names):
        return None
    total = product(mesh.sizes)
    if total is None:
        return None
    factors = " × ".join(str(size) for size in mesh.sizes)
    return f"{factors} = {counted(total, 'device')}" if len(mesh.sizes) > 1 else counted(total, "device")


def mesh_sizes(mesh: Mesh) -> dict[str, int | None]:
    """Returns the known axis names of a mesh, with their sizes."""
    sizes = mesh.sizes if mesh.sizes is not None and len(mesh.sizes) == len(mesh.names) else (None,) * len(mesh.names)
    return {
        name.value: size
        for name, size in zip(mesh.names, sizes, strict=True)
        if isinstance(name, Const) and isinstance(name.value, str)
    }


def spec_names(entry: object) -> tuple[str, ...]:
    """Returns the mesh axes in one entry of a spec."""
    items = entry.items if isinstance(entry, Seq) else (entry,)
    return tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))
