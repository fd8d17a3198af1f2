"""A file's devices in words: target devices and detected devices, clearly distinguished."""

from __future__ import annotations

from meshlens.devices.report import Report, summary
from meshlens.devices.topology import DETECTED, Topology, devices_of
from meshlens.ide.hovering.prose import counted
from meshlens.project.settings.devices import Devices, there_are


def said_by(devices: Devices) -> str:
    """Returns how a file's devices were determined: "target 8xH100", "requested by this file", "detected"."""
    if devices.target is None:
        return DETECTED
    if devices.origin in ("set", "comment"):
        return f"target {devices.target.text}"
    return "requested by this file" if devices.origin == "code" else DETECTED


def all_devices(devices: Devices) -> str | None:
    """Describes all processes' devices: "8 × NVIDIA H100 80GB (target 8xH100)"; without a target, the detected ones."""
    if devices.target is not None:
        return f"{devices_of(devices.target)} ({said_by(devices)})"
    found = _found(devices)
    return f"{found} ({DETECTED})" if found else None


def own_devices(devices: Devices) -> str | None:
    """Describes the devices of one process, over which a `pmap` maps."""
    target = devices.target
    if target is None or target.hosts == 1:
        return all_devices(devices)
    return f"{_of_one(target)} on each of {target.hosts} hosts ({said_by(devices)})"


def part_of(devices: Devices, count: int) -> str:
    """Describes some of the target devices: "8 of 16 × TPU v5e (target v5e-16)"; without a target, only counts them."""
    words = all_devices(devices) if devices.target is not None else None
    if words is None or devices.count is None:
        return counted(count, "device")
    if count > devices.count:
        return f"{counted(count, 'device')}, but {there_are(devices)}"
    return words if count == devices.count else f"{count} of {words}"


def here(devices: Devices) -> str | None:
    """Returns the detected devices, such as "here: 1 CPU device"; None if unknown or if the file already uses them."""
    found = _found(devices)
    return f"here: {found}" if found and devices.origin != "detected" else None


def has_devices(report: Report | None) -> bool:
    """Returns whether a report lists devices, even if they come only from the driver."""
    return report is not None and bool(report.devices or report.accelerators)


def status(devices: Devices, *, trusted: bool = True) -> str:
    """Returns a short text for the status bar, such as "target 2x4, here 1 CPU device".

    Args:
        devices: the devices of the file.
        trusted: whether the file's workspace is trusted, so that its Python may run.
    """
    found = _found(devices)
    here = f"here {found}" if found else "" if trusted else "workspace not trusted"
    if devices.target is None or devices.origin == "detected":
        if trusted and has_no_jax(devices.detected):
            return found or "no JAX found"
        return found or ("devices unknown" if trusted else "workspace not trusted: devices not checked")
    words = f"{counted(devices.target.count, 'device')} requested" if devices.origin == "code" else said_by(devices)
    return f"{words}, {here}" if here else words


def has_no_jax(report: Report | None) -> bool:
    """Returns whether the user's Python has no JAX."""
    return report is not None and bool(report.failure) and bool(report.python) and report.version("jax") is None


def _found(devices: Devices) -> str | None:
    report = devices.detected
    return summary(report) if report is not None and has_devices(report) else None


def _of_one(target: Topology) -> str:
    if target.name:
        return f"{target.local_count} × {target.name}"
    return counted(target.local_count, "device")
