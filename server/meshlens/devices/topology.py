"""Target devices, which do not depend on the current machine: `8`, `2x4`, `v5e-16`, `8xH100`.

This module does not detect devices; `probe` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from math import prod

from meshlens.devices.report import Report
from meshlens.devices.tpus import ALIASES, VERSIONS, TpuVersion, hosts_of

ALLOWED = 'a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'
"""The possible forms of a topology, for messages."""

DETECTED = "detected"
MOST = 1_000_000
_LONGEST = 60

GPUS = {
    "V100": "NVIDIA V100",
    "T4": "NVIDIA T4",
    "L4": "NVIDIA L4",
    "L40S": "NVIDIA L40S",
    "A10G": "NVIDIA A10G",
    "A100": "NVIDIA A100",
    "H100": "NVIDIA H100 80GB",
    "H200": "NVIDIA H200",
    "B200": "NVIDIA B200",
    "B300": "NVIDIA B300",
    "GB200": "NVIDIA GB200",
    "RTX3090": "NVIDIA GeForce RTX 3090",
    "RTX4090": "NVIDIA GeForce RTX 4090",
    "RTX5090": "NVIDIA GeForce RTX 5090",
    "MI250X": "AMD Instinct MI250X",
    "MI300X": "AMD Instinct MI300X",
}
"""The full names of GPUs, by their usual short names."""

_NUMBER = re.compile(r"[1-9]\d*")
_SHAPE = re.compile(r"[1-9]\d*(?:x[1-9]\d*)+")
_TPU = re.compile(r"(?:tpu[ -]?)?(v\d+\w*|trillium)-(\d+(?:x\d+)*)")
_NAMED = re.compile(r"([1-9]\d*(?:x[1-9]\d*)?)x([a-z]\w*)")


class BadTopology(ValueError):
    """Raised for a text that does not describe devices; the message lists the valid forms."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Devices that a program is meant for.

    Attributes:
        text: the text, such as "2x4"; "detected" for detected devices.
        count: the number of devices in `jax.devices()`.
        shape: the layout of the devices, or of the chips of a TPU slice; a single size if unknown.
        platform: "cpu", "gpu", "tpu", or empty if unknown.
        name: the name of the devices to show, such as "TPU v5e"; empty if unknown.
        per_chip: the number of devices per chip.
        hosts: the number of JAX processes.
    """

    text: str
    count: int
    shape: tuple[int, ...]
    platform: str = ""
    name: str = ""
    per_chip: int = 1
    hosts: int = 1

    @property
    def local_count(self) -> int:
        """Returns the number of devices of each process."""
        return self.count // self.hosts


def parse_topology(value: object) -> Topology:
    """Returns the devices that a text or a number describes.

    Args:
        value: 8, "8", "2x4" (also with `*` or `,`, and with spaces), "v5e-16", "v4-2x2x4", "8xH100", "4x8xH100" for
            four hosts, or "8xcpu".

    Raises:
        BadTopology: the value describes no devices; the message lists the valid forms.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise BadTopology(f"expected {ALLOWED}")
    if isinstance(value, int) and not 0 < value <= MOST:
        raise BadTopology(f"expected at most {MOST:,} devices" if value > 0 else f"expected {ALLOWED}")
    if isinstance(value, str) and len(value) > _LONGEST:
        raise BadTopology(f"expected {ALLOWED}")
    text = re.sub(r"\s*[x×*,]\s*", "x", str(value).strip().lower())
    if _NUMBER.fullmatch(text):
        return _counted(text, (int(text),))
    if _SHAPE.fullmatch(text):
        return _counted(text, tuple(map(int, text.split("x"))))
    if found := _TPU.fullmatch(text):
        return _slice(found[1], found[2])
    if found := _NAMED.fullmatch(text):
        return _named(tuple(map(int, found[1].split("x"))), found[2])
    raise BadTopology(f"expected {ALLOWED}")


def topology_of(report: Report) -> Topology | None:
    """Returns the devices of a report as a topology; None if the report has no devices."""
    if not report.devices:
        return None
    hosts = max(report.process_count or 1, 1)
    first = report.devices[0]
    name = "" if first.platform == "cpu" else first.kind
    count = len(report.devices)
    return Topology(DETECTED, count, (count,), first.platform, name, hosts=hosts)


def devices_of(topology: Topology) -> str:
    """Returns the devices in a few words: "8 devices", "16 × TPU v5e", "4 CPU devices"."""
    if topology.name:
        return f"{topology.count} × {topology.name}"
    noun = "CPU device" if topology.platform == "cpu" else "device"
    return f"{topology.count} {noun}{'s' if topology.count != 1 else ''}"


def describe(topology: Topology) -> str:
    """Returns the devices in full: "v4-16: 8 × TPU v4 on 8 chips (2 × 2 × 2), 2 hosts with 4 each"."""
    words = devices_of(topology)
    layout = " × ".join(map(str, topology.shape))
    if topology.platform == "tpu":
        chips = prod(topology.shape)
        words += f" on {chips} chip{'s' if chips != 1 else ''} ({layout})"
    elif len(topology.shape) > 1 and topology.hosts == 1:
        words += f" ({layout})"
    if topology.hosts > 1:
        words += f", {topology.hosts} hosts with {topology.local_count} each"
    return f"{topology.text}: {words}" if topology.text != words.partition(" ")[0] else words


def named(topology: Topology) -> str:
    """Returns the name of the devices for use in messages: "target 2x4", "detected devices"."""
    return "detected devices" if topology.text == DETECTED else f"target {topology.text}"


def coordinates(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Returns each device's position, by id; on TPUs, this is (x, y, z, core), where core varies fastest, then x."""
    if topology.platform == "tpu":
        axes = [range(size) for size in reversed(topology.shape)]
        places = [tuple(reversed(place)) for place in product(*axes)]
        full = [(*place, *(0,) * (3 - len(place))) for place in places]
        return tuple((*place, core) for place in full for core in range(topology.per_chip))
    return tuple(product(*(range(size) for size in topology.shape)))


def _counted(text: str, shape: tuple[int, ...]) -> Topology:
    if prod(shape) > MOST:
        raise BadTopology(f"expected at most {MOST:,} devices")
    return Topology(text, prod(shape), shape)


def _named(sizes: tuple[int, ...], spelled: str) -> Topology:
    known = {name.lower(): name for name in GPUS}
    times = "x".join(map(str, sizes))
    if prod(sizes) > MOST:
        raise BadTopology(f"expected at most {MOST:,} devices")
    if spelled == "cpu" and len(sizes) == 1:
        return Topology(f"{times}xcpu", sizes[0], sizes, "cpu")
    if spelled not in known:
        close = get_close_matches(spelled, known, n=1, cutoff=0.5)
        meant = f'; did you mean "{times}x{known[close[0]]}"?' if close else f": {', '.join(GPUS)}"
        raise BadTopology(f'expected a known GPU, not "{spelled.upper()}"{meant}')
    name = known[spelled]
    hosts = sizes[0] if len(sizes) > 1 else 1
    return Topology(f"{times}x{name}", prod(sizes), sizes, "gpu", GPUS[name], hosts=hosts)


def _slice(spelled: str, size: str) -> Topology:
    version = VERSIONS.get(ALIASES.get(spelled, spelled))
    if version is None:
        raise BadTopology(f'expected a known TPU version ({", ".join(VERSIONS)}), not "{spelled}"')
    shape = _layout(version, size)
    count = prod(shape) * version.per_chip
    text = f"{version.name}-{size}"
    return Topology(text, count, shape, "tpu", f"TPU {version.name}", version.per_chip, hosts_of(version, shape))


def _layout(version: TpuVersion, size: str) -> tuple[int, ...]:
    sizes = tuple(map(int, size.split("x")))
    example = f"{version.name}-{'4x4x4' if version.dimensions == 3 else '4x4'}"
    if len(sizes) > 1:
        if len(sizes) != version.dimensions or 0 in sizes:
            raise BadTopology(f'expected {version.dimensions} sizes for {version.name}, as in "{example}"')
        if prod(sizes) > MOST:
            raise BadTopology(f"expected at most {MOST:,} devices")
        return sizes
    chips, rest = divmod(sizes[0], version.per_number)
    if rest or chips not in version.shapes:
        what = "chips" if version.per_number == 1 else "TensorCores"
        allowed = ", ".join(map(str, version.numbers))
        raise BadTopology(f'expected a {version.name} slice of {allowed} {what}, or a layout such as "{example}"')
    return version.shapes[chips]
