"""The entry to trace, the devices it is traced for, and the limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from meshlens.devices.topology import Topology
from meshlens.tracing.machines import Machine

TRACED, PARTITIONED = 1, 2


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request.

    Attributes:
        seconds: by the clock.
        memory: bytes of all its processes together.
    """

    seconds: float = 20.0
    memory: int = 2 << 30


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request to trace an entry for some devices.

    Attributes:
        interpreter: the Python that runs the user's code.
        root: the folder of the project.
        file: the file of the entry.
        name: the entry in it.
        target: the devices.
        level: how far it goes: `TRACED` or `PARTITIONED`.
        machine: what the devices are; None where nobody said.
        limits: what it may take.
        runs_main: whether the file is run as a program until it calls the function.
        with_plugin: whether the compiler of NVIDIA's plugin partitions; `trace` tries that by itself for GPUs.
        untrusted: folders that are not trusted; with any, nothing is run.
    """

    interpreter: str
    root: Path
    file: Path
    name: str
    target: Topology
    level: int = PARTITIONED
    machine: Machine | None = None
    limits: Limits = Limits()
    runs_main: bool = False
    with_plugin: bool = False
    untrusted: tuple[Path, ...] = ()

    @property
    def entry(self) -> str:
        """The entry as people name it: its file from the project's folder, and its name."""
        inside = self.file.is_relative_to(self.root)
        return f"{self.file.relative_to(self.root).as_posix() if inside else self.file}::{self.name}"
