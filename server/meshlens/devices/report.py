"""A report on an interpreter and its devices, as data with a JSON form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Literal, TypeAlias

CONTRACT = 1
"""The version of the JSON form; readers refuse any other version."""

Level: TypeAlias = Literal["installed", "devices"]


class BadReport(ValueError):
    """Raised if a JSON value is not a report; the message says why."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device, as `jax.devices()` describes it.

    Attributes:
        platform: "cpu", "gpu" or "tpu".
        kind: its `device_kind`, such as "NVIDIA H100 80GB HBM3".
        id: its number among all devices.
        process_index: the process that it belongs to.
        local: whether it belongs to the probe's process.
        coordinates: its position in the topology; only on TPUs.
        core_on_chip: its core number on its chip; only on TPUs.
        memory_limit: the bytes of its memory that can be used; None for CPUs.
        memory_in_use: the bytes in use.
    """

    platform: str
    kind: str
    id: int
    process_index: int = 0
    local: bool = True
    coordinates: tuple[int, ...] | None = None
    core_on_chip: int | None = None
    memory_limit: int | None = None
    memory_in_use: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The facts about one interpreter.

    Attributes:
        interpreter: its path.
        level: "installed" if only package metadata was read, "devices" if JAX was started.
        python: its Python version, empty if unknown.
        versions: packages with their versions, sorted by name.
        devices: the result of `jax.devices()`; empty at level "installed" and after a failure.
        accelerators: the machine's accelerators, detected without JAX, from the driver or device files.
        default_backend: the result of `jax.default_backend()`.
        process_count: the result of `jax.process_count()`.
        failure: a sentence that states the failure and the remedy; None if nothing failed.
        note: a sentence about something unexpected, such as a GPU that JAX does not use.
        seconds: the elapsed time.
    """

    interpreter: str
    level: Level
    python: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    devices: tuple[Device, ...] = ()
    accelerators: tuple[Device, ...] = ()
    default_backend: str | None = None
    process_count: int | None = None
    failure: str | None = None
    note: str | None = None
    seconds: float = 0.0

    def version(self, package: str) -> str | None:
        """Returns the version of a package; None if it is not installed."""
        return dict(self.versions).get(package)


def summary(report: Report) -> str:
    """Returns the devices of a report in a few words, such as "8 × NVIDIA H100 80GB" or "1 CPU device".

    Devices detected without JAX are described in the same way.
    """
    return devices_in_words(report.devices or report.accelerators)


def devices_in_words(devices: tuple[Device, ...]) -> str:
    """Returns devices in a few words, grouped by kind; "no devices" if there are none."""
    ordered = sorted(devices, key=lambda device: (device.platform, device.kind))
    groups = [tuple(group) for _, group in groupby(ordered, key=lambda device: (device.platform, device.kind))]
    text = ", ".join(_group_in_words(group) for group in groups)
    here = sum(device.local for device in devices)
    return f"{text}, {here} of them local" if here < len(devices) else text or "no devices"


def _group_in_words(group: tuple[Device, ...]) -> str:
    if group[0].platform == "cpu":
        return f"{len(group)} CPU device{'s' if len(group) > 1 else ''}"
    return f"{len(group)} × {group[0].kind or group[0].platform.upper()}"


def to_json(report: Report) -> dict[str, object]:
    """Returns the report as JSON values, with the contract's version first."""
    return {"contract": CONTRACT, **asdict(report), "versions": dict(report.versions)}


def from_json(value: object) -> Report:
    """Returns the report in a JSON value.

    Raises:
        BadReport: the value has another contract version, or is not a report.
    """
    if not isinstance(value, Mapping):
        raise BadReport("not an object")
    contract = value.get("contract")
    if contract != CONTRACT:
        raise BadReport(f"format {contract!r} instead of {CONTRACT}")
    versions = value.get("versions")
    if not isinstance(versions, Mapping):
        raise BadReport('"versions" is not an object')
    level = _text(value, "level")
    if level not in ("installed", "devices"):
        raise BadReport(f'"level" is "{level}"')
    seconds = value.get("seconds")
    return Report(
        interpreter=_text(value, "interpreter"),
        level="devices" if level == "devices" else "installed",
        python=_text(value, "python"),
        versions=tuple(sorted((str(name), str(version)) for name, version in versions.items())),
        devices=tuple(_devices(value, "devices")),
        accelerators=tuple(_devices(value, "accelerators")),
        default_backend=_optional_text(value, "default_backend"),
        process_count=_optional_number(value, "process_count"),
        failure=_optional_text(value, "failure"),
        note=_optional_text(value, "note"),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
    )


def _devices(value: Mapping[str, object], key: str) -> Iterator[Device]:
    listed = value.get(key, [])
    if not isinstance(listed, (list, tuple)):
        raise BadReport(f'"{key}" is not a list')
    for entry in listed:
        if not isinstance(entry, Mapping):
            raise BadReport(f'"{key}" contains something that is not a device')
        coordinates = entry.get("coordinates")
        yield Device(
            platform=_text(entry, "platform"),
            kind=_text(entry, "kind"),
            id=_number(entry, "id"),
            process_index=_number(entry, "process_index"),
            local=entry.get("local") is not False,
            coordinates=tuple(map(int, coordinates)) if isinstance(coordinates, (list, tuple)) else None,
            core_on_chip=_optional_number(entry, "core_on_chip"),
            memory_limit=_optional_number(entry, "memory_limit"),
            memory_in_use=_optional_number(entry, "memory_in_use"),
        )


def _text(value: Mapping[str, object], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise BadReport(f'"{key}" is not a string')
    return found


def _number(value: Mapping[str, object], key: str) -> int:
    found = value.get(key)
    if not isinstance(found, int) or isinstance(found, bool):
        raise BadReport(f'"{key}" is not a number')
    return found


def _optional_text(value: Mapping[str, object], key: str) -> str | None:
    return None if value.get(key) is None else _text(value, key)


def _optional_number(value: Mapping[str, object], key: str) -> int | None:
    return None if value.get(key) is None else _number(value, key)
