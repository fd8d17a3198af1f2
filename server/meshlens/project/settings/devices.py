"""The target devices of a file and the detected devices, with their origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from meshlens.devices.report import Report
from meshlens.devices.topology import DETECTED, BadTopology, Topology, parse_topology, topology_of
from meshlens.facts.model import DevicesSaid, FileFacts
from meshlens.settings import DevicesWanted

Origin: TypeAlias = Literal["comment", "code", "set", "detected", "nothing"]


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices of one file.

    Attributes:
        target: the devices that its code is meant for; None if not set.
        origin: the origin of the target: a comment in the file, the file's code or the settings; "detected" if the
            settings ask for the detected devices.
        sure: whether the target is certain; false if the file requests an unknown number of devices.
        detected: the devices that a probe found; None before the probe.
    """

    target: Topology | None = None
    origin: Origin = "nothing"
    sure: bool = True
    detected: Report | None = None

    @property
    def local_count(self) -> int | None:
        """Returns the number of devices of one process."""
        return self.target.local_count if self.target is not None else None

    @property
    def count(self) -> int | None:
        """Returns the number of devices that the code is meant for."""
        return self.target.count if self.target is not None else None


def devices_for(facts: FileFacts | None, target: Topology | None, detected: Report | None = None) -> Devices:
    """Returns the devices of a file.

    Args:
        facts: its facts; devices set in the file itself take precedence.
        target: the target of its project.
        detected: the detected devices.
    """
    said = facts.devices if facts is not None else None
    own = _own(said) if said is not None else None
    if said is not None and own is not None:
        return Devices(own, "comment" if said.how == "comment" else "code", True, detected)
    sure = said is None or said.how == "comment"
    if target is None:
        return Devices(None, "nothing", sure, detected)
    return Devices(target, "detected" if target.text == DETECTED else "set", sure, detected)


def says_devices(facts: Mapping[str, FileFacts]) -> dict[str, DevicesSaid]:
    """Returns the devices of each file that sets its own."""
    return {path: file.devices for path, file in facts.items() if file.devices is not None}


@lru_cache(maxsize=256)
def _own(said: DevicesSaid) -> Topology | None:
    """Returns the target that a file sets; None if it is invalid."""
    if said.how == "code" and not said.text.strip("0"):
        return None
    try:
        return parse_topology(f"{said.text}xcpu" if said.how == "code" else said.text)
    except BadTopology:
        return None


def target_of(setting: DevicesWanted | None, detected: Report | None) -> Topology | None:
    """Returns the target devices of a project, from its setting and the detected devices."""
    if setting == "detected":
        return topology_of(detected) if detected is not None else None
    return setting


def there_are(devices: Devices) -> str:
    """Returns the number of devices and its origin, for the end of a message: "target 2x4 has 8 devices"."""
    assert devices.target is not None
    return _counted(devices, devices.target.count)


def local_there_are(devices: Devices) -> str:
    """Returns the number of devices of one process: "target v5e-16 has 4 devices on each host"."""
    assert devices.target is not None
    each = " on each host" if devices.target.hosts > 1 else ""
    return _counted(devices, devices.target.local_count) + each


def _counted(devices: Devices, count: int) -> str:
    assert devices.target is not None
    words = f"{count} device{'s' if count != 1 else ''}"
    if devices.origin == "detected":
        return f"{words} {'was' if count == 1 else 'were'} detected"
    if devices.origin == "code":
        return f"this file requests {words}"
    text = devices.target.text
    return f"{'the target' if text.isdecimal() else f'target {text}'} has {words}"
