"""The hover of `jax.devices()` and other device queries: target devices and detected devices."""

from __future__ import annotations

from meshlens.devices.report import Device, Report, summary
from meshlens.devices.topology import Topology, describe
from meshlens.ide.hovering.device_words import has_devices, said_by
from meshlens.ide.hovering.prose import Prose
from meshlens.jaxapi.names import canonical
from meshlens.project.settings.devices import Devices

_MOST_DEVICES = 8
_HOW_TO_SAY = "No target devices are set; set {}, or write {} at the top of the file."

_QUESTIONS = {
    "jax.devices": "the devices of all processes",
    "jax.local_devices": "the devices in this process",
    "jax.device_count": "the number of devices across all processes",
    "jax.local_device_count": "the number of devices in this process",
    "jax.process_count": "the number of processes",
    "jax.process_index": "the index of this process",
}


def devices_text(prose: Prose, dotted: str) -> str | None:
    """Returns the description of a device query; None for other names."""
    name = canonical(dotted)
    question = _QUESTIONS.get(name)
    if question is None:
        return None
    devices = prose.view.devices
    return prose.page(
        f"{prose.code(name)}: {question}.",
        _meant(prose, name, devices),
        _here(prose, name, devices.detected),
        _listed(prose, name, devices.detected),
    )


def _meant(prose: Prose, name: str, devices: Devices) -> str | None:
    if devices.origin == "detected":
        return None
    if devices.target is None:
        if has_devices(devices.detected):
            return None
        return _HOW_TO_SAY.format(prose.code("devices"), prose.code("# meshlens: devices=8"))
    return f"Simulated ({said_by(devices)}): {_answer_of(name, devices.target)}."


def _answer_of(name: str, target: Topology) -> str:
    """Returns the result of the query on the target devices."""
    if name == "jax.devices":
        return describe(target).removeprefix(f"{target.text}: ")
    if name == "jax.local_devices":
        return f"{target.local_count} of {target.count}" if target.hosts > 1 else f"all {target.count}"
    if name == "jax.process_index":
        return f"0 to {target.hosts - 1}" if target.hosts > 1 else "0"
    return str(_count(name, target.count, target.local_count, target.hosts))


def _here(prose: Prose, name: str, report: Report | None) -> str | None:
    if report is None:
        return None
    asked = f" (Python at {prose.code(report.interpreter)})"
    if report.failure is not None and not report.devices:
        found = f"{summary(report)}, but " if report.accelerators else ""
        return f"Here: {found}{report.failure}"
    if not report.devices:
        found = f" The machine has {summary(report)}." if report.accelerators else ""
        return f"Here: {report.note or 'JAX was not queried'}.{found}"
    local = sum(device.local for device in report.devices)
    if name in ("jax.devices", "jax.local_devices"):
        return f"Detected here: {summary(report)}, default backend {report.default_backend or 'unknown'}{asked}."
    if name == "jax.process_index":
        return f"Detected here: {next((one.process_index for one in report.devices if one.local), 0)}{asked}."
    return f"Detected here: {_count(name, len(report.devices), local, report.process_count or 1)}{asked}."


def _count(name: str, devices: int, local: int, processes: int) -> int:
    return {"jax.device_count": devices, "jax.local_device_count": local}.get(name, processes)


def _listed(prose: Prose, name: str, report: Report | None) -> str | None:
    """Returns the devices one by one, if there is more to show than their number."""
    if report is None or name not in ("jax.devices", "jax.local_devices"):
        return None
    shown = [one for one in report.devices if one.local or name == "jax.devices"]
    if not any(one.memory_limit or one.coordinates for one in shown):
        return None
    lines = [_described(one) for one in shown[:_MOST_DEVICES]]
    if len(shown) > _MOST_DEVICES:
        lines.append(f"and {len(shown) - _MOST_DEVICES} more")
    return prose.items(lines)


def _described(device: Device) -> str:
    parts = [f"{device.id}: {device.kind}"]
    if device.coordinates is not None:
        core = f", core {device.core_on_chip}" if device.core_on_chip else ""
        parts.append(f"at ({', '.join(map(str, device.coordinates))}){core}")
    if device.memory_limit:
        used = f", {_gib(device.memory_in_use)} in use" if device.memory_in_use is not None else ""
        parts.append(f"{_gib(device.memory_limit)}{used}")
    return ", ".join(parts)


def _gib(size: int | None) -> str:
    return f"{(size or 0) / (1 << 30):.1f} GiB"
