"""The entry to trace, its devices, and the limits."""

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
        seconds: the maximum elapsed time, in seconds.
        memory: the maximum total memory of its processes, in bytes.
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
        name: the name of the entry in the file.
        target: the devices.
        level: how far to go: `TRACED` or `PARTITIONED`.
        machine: the machine to estimate times for; None if not set.
        limits: the limits.
        runs_main: whether to run the file as a program until it calls the function.
        argv: the command-line arguments of the program.
        with_plugin: whether to partition with the compiler of NVIDIA's plugin; `trace` tries that automatically for
            GPUs.
        untrusted: untrusted folders; if there are any, nothing is run.
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
    argv: tuple[str, ...] = ()
    with_plugin: bool = False
    untrusted: tuple[Path, ...] = ()

    @property
    def entry(self) -> str:
        """Returns the entry's name to show: its file relative to the project's folder, and its name."""
        inside = self.file.is_relative_to(self.root)
        return f"{self.file.relative_to(self.root).as_posix() if inside else self.file}::{self.name}"
