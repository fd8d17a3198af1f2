"""Which devices a file is meant for, and which are there; what says so."""

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
        target: those that its code is meant for; None where nobody said.
        origin: what says so: a comment in the file, its own code, the settings; "detected" where the settings ask for
            the devices that are there.
        sure: whether nothing else may be in force; not where the file asks for a number that cannot be told.
        detected: what a probe found; None while nothing was.
    """

    target: Topology | None = None
    origin: Origin = "nothing"
    sure: bool = True
    detected: Report | None = None

    @property
    def local_count(self) -> int | None:
        """How many devices a process of it has of its own."""
        return self.target.local_count if self.target is not None else None

    @property
    def count(self) -> int | None:
        """How many devices the code is meant for."""
        return self.target.count if self.target is not None else None


def devices_for(facts: FileFacts | None, target: Topology | None, detected: Report | None = None) -> Devices:
    """The devices of a file.

    Args:
        facts: what it says itself; that goes first.
        target: what is set for its project.
        detected: what a probe found.
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
    """Returns what files themselves say of devices, of those that do."""
    return {path: file.devices for path, file in facts.items() if file.devices is not None}


@lru_cache(maxsize=256)
def _own(said: DevicesSaid) -> Topology | None:
    """Returns what a file asks for; None where that means nothing."""
    if said.how == "code" and not said.text.strip("0"):
        return None
    try:
        return parse_topology(f"{said.text}xcpu" if said.how == "code" else said.text)
    except BadTopology:
        return None


def target_of(setting: DevicesWanted | None, detected: Report | None) -> Topology | None:
    """The devices that a project is meant for, by its setting and by what a probe found."""
    if setting == "detected":
        return topology_of(detected) if detected is not None else None
    return setting


def there_are(devices: Devices) -> str:
    """Returns how many devices there are, with what says so, for the end of a message: "target 2x4 has 8 devices"."""
    assert devices.target is not None
    return _counted(devices, devices.target.count)


def local_there_are(devices: Devices) -> str:
    """The same for one process: "target v5e-16 has 4 devices on each host"."""
    assert devices.target is not None
    each = " on each host" if devices.target.hosts > 1 else ""
    return _counted(devices, devices.target.local_count) + each


def _counted(devices: Devices, count: int) -> str:
    assert devices.target is not None
    words = f"{count} device{'s' if count != 1 else ''}"
    if devices.origin == "detected":
        return f"{words} {'was' if count == 1 else 'were'} detected"
    if devices.origin == "code":
        return f"this file asks for {words}"
    text = devices.target.text
    return f"{'the target' if text.isdecimal() else f'target {text}'} has {words}"
