"""The device at each position in a mesh, if the program determines it."""

from __future__ import annotations

from meshlens.axes.data.arrays import product, shape_of
from meshlens.axes.domain.values import Const, Mesh
from meshlens.axes.runs.records import ApiCall
from meshlens.jaxapi.meshes import MESHES
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView


def device_ids(view: FileView, mesh: Mesh) -> tuple[int, ...] | None:
    """Returns the ids of a mesh's devices in the order of its array, row by row; None if unknown.

    They are known if the array is `jax.devices()`, possibly reshaped, or comes from `make_mesh` on CPUs or GPUs, which
    keeps their order. `make_mesh` orders TPUs by network topology (JAX 0.10.2).
    """
    call = _call_of(view, mesh)
    total = product(mesh.sizes)
    if call is None or total is None or mesh.open or mesh.kind != "Mesh":
        return None
    order = _in_order(view)
    if order is None or len(order) < total:
        return None
    row = MESHES.get(canonical(call.dotted))
    given = next((arg.value for arg in call.args if arg.label == "devices"), None)
    if row is not None and row.shape is not None:
        unsaid = given is None or (isinstance(given, Const) and given.value is None)
        return order[:total] if unsaid and not _is_tpu(view) else None
    first = given if given is not None else call.args[0].value if call.args else None
    labels: frozenset[object] = getattr(first, "labels", frozenset())
    whole = "in-order" in labels and first is not None and product(shape_of(first)) == len(order)
    return order if whole and total == len(order) else None


def _call_of(view: FileView, mesh: Mesh) -> ApiCall | None:
    records = view.solution.by_file.get(mesh.site.path)
    calls = records.calls if records is not None else []
    return next((call for call in calls if call.call == mesh.site), None)


def _in_order(view: FileView) -> tuple[int, ...] | None:
    """Returns the ids in `jax.devices()` order; None for several TPU hosts, as it varies (keras-team/keras#19968)."""
    devices = view.devices
    if devices.target is None or devices.origin == "detected":
        report = devices.detected
        return tuple(device.id for device in report.devices) if report is not None and report.devices else None
    if devices.target.hosts > 1 and devices.target.platform == "tpu":
        return None
    return tuple(range(devices.target.count))


def _is_tpu(view: FileView) -> bool:
    devices = view.devices
    if devices.target is not None:
        return devices.target.platform == "tpu"
    report = devices.detected
    return report is not None and any(device.platform == "tpu" for device in report.devices)
