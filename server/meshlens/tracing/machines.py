"""Bandwidths and peak rates of machines, and the minimum time of collectives on them.

Sources: "How to Scale Your Model" (jax-ml.github.io/scaling-book), the chapters "How to Think About TPUs" (FLOP/s,
memory, bandwidth of each ICI link in one direction, which slices wrap around, 1 µs per hop), "Sharded Matrices"
(formulas) and "How to Think About GPUs" (FLOP/s, memory, NVLink, InfiniBand, formulas). Where the book rounds, the
numbers are the vendor's: 3.12e14 FLOP/s for the A100 (SXM4 80 GB), 3.35e12 B/s for the H100's memory (SXM5), 2.25e15
FLOP/s for the B200 (HGX). All FLOP/s are for dense bfloat16; each GPU has one network adapter, with 200 Gb/s (A100) or
400 Gb/s.
Google's own pages give 9.18e14 FLOP/s for the v6e and 95 GB for the v5p; the table uses the book's 9.2e14 and 96 GB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from meshlens.devices.topology import Topology
from meshlens.tracing.groups import Groups
from meshlens.tracing.model import Estimate


@dataclass(frozen=True, slots=True)
class Machine:
    """The performance of one device, and of its connection to others.

    Attributes:
        name: the name to show, such as "TPU v5e".
        flops: dense bfloat16 operations per second.
        memory: bytes of device memory.
        memory_bandwidth: bytes per second from memory.
        link: the connection between devices of a host or slice, such as "NVLink" or "ICI".
        bandwidth: bytes per second over the link in one direction; for a torus, over each link.
        network: the connection between hosts; empty if the link connects them.
        network_bandwidth: bytes per second of each device over the network, in one direction.
        per_host: the maximum number of devices on the link; 0 for all.
        is_torus: whether devices are connected only to their neighbors.
        wraps_at: torus axes whose size is a multiple of this number form rings.
        hop: minimum seconds for a message to the next device.
    """

    name: str
    flops: float
    memory: float
    memory_bandwidth: float
    link: str
    bandwidth: float
    network: str = ""
    network_bandwidth: float = 0.0
    per_host: int = 0
    is_torus: bool = False
    wraps_at: int = 0
    hop: float = 0.0


def _tpu(name: str, flops: float, memory: float, speed: float, bandwidth: float, wraps_at: int) -> Machine:
    return Machine(name, flops, memory, speed, "ICI", bandwidth, is_torus=True, wraps_at=wraps_at, hop=1e-6)


def _gpu(name: str, flops: float, memory: float, speed: float, bandwidth: float, network: float) -> Machine:
    return Machine(name, flops, memory, speed, "NVLink", bandwidth, "InfiniBand", network, per_host=8)


MACHINES: Mapping[str, Machine] = {
    "v4": _tpu("TPU v4", 2.75e14, 32e9, 1.2e12, 4.5e10, 4),
    "v5e": _tpu("TPU v5e", 1.97e14, 16e9, 8.1e11, 4.5e10, 16),
    "v5p": _tpu("TPU v5p", 4.59e14, 96e9, 2.8e12, 9e10, 4),
    "v6e": _tpu("TPU v6e", 9.2e14, 32e9, 1.6e12, 9e10, 16),
    "A100": _gpu("A100", 3.12e14, 80e9, 2.0e12, 3e11, 2.5e10),
    "H100": _gpu("H100", 9.9e14, 80e9, 3.35e12, 4.5e11, 5e10),
    "H200": _gpu("H200", 9.9e14, 141e9, 4.8e12, 4.5e11, 5e10),
    "B200": _gpu("B200", 2.25e15, 192e9, 8.0e12, 9e11, 5e10),
}
"""Machines by their name in targets."""


def machine_of(target: Topology) -> Machine | None:
    """Returns the machine of a target; None if the target names no machine in the table."""
    if target.platform == "tpu":
        return MACHINES.get(target.name.removeprefix("TPU "))
    return MACHINES.get(target.text.rpartition("x")[2]) if target.platform == "gpu" else None


def machine_from(name: str, values: Mapping[str, float | str]) -> Machine:
    """Returns the machine described by a configuration.

    Args:
        name: its name in the configuration.
        values: its numbers and the names of its links, by key.
    """

    def number(key: str) -> float:
        return float(values.get(key, 0.0))

    return Machine(
        name=name,
        flops=number("flops"),
        memory=number("memory"),
        memory_bandwidth=number("memory-bandwidth"),
        link=str(values.get("link", "link")),
        bandwidth=number("bandwidth"),
        network=str(values.get("network", "network")),
        network_bandwidth=number("network-bandwidth"),
        per_host=int(number("per-host")),
    )


def least_time(machine: Machine, shape: tuple[int, ...], kind: str, size: int, groups: Groups) -> Estimate | None:
    """Returns the minimum time of one collective.

    Args:
        machine: the machine.
        shape: the shape of the slice in chips.
        kind: the kind, such as "all-gather".
        size: the size of its result on one device, in bytes.
        groups: the groups of devices.
    """
    number = max((len(group) for group in groups), default=0)
    if number < 2:
        return None
    if machine.is_torus and kind in ("collective-permute", "collective-broadcast"):
        return Estimate(max(_sent(machine, shape, size, group) for group in groups), machine.link)
    if machine.is_torus:
        return Estimate(_on_torus(machine, shape, kind, size, number), machine.link)
    return _on_hosts(machine, kind, size, groups)


def _on_torus(machine: Machine, shape: tuple[int, ...], kind: str, size: int, number: int) -> float:
    """Returns the time according to the scaling book: the array travels along the rings of all axes at once."""
    rings = _rings(machine, shape, number)
    # In a closed ring, bytes travel both ways; an open one is limited by its ends, which have one link.
    both_ways = sum(2 * machine.bandwidth for _, closed in rings if closed)
    one_way = sum(machine.bandwidth for _, closed in rings if not closed)
    bandwidth = both_ways + one_way * number / max(number - 1, 1)
    hops = sum(length // 2 if closed else length - 1 for length, closed in rings)
    latency = hops * machine.hop
    if kind == "all-gather":
        return max(size / bandwidth, latency)
    if kind == "reduce-scatter":
        return max(size * number / bandwidth, latency)
    if kind in ("all-to-all", "ragged-all-to-all"):
        return max(size * number / (4 * bandwidth), latency)
    return 2 * max(size / bandwidth, latency)


def _sent(machine: Machine, shape: tuple[int, ...], size: int, group: tuple[int, ...]) -> float:
    """Returns the time to send data from a group's first device to its last, split over the axes between them."""
    axes = [(length, abs(one - two)) for length, one, two in zip(shape, *_ends(shape, group), strict=True)]
    distances = [min(away, length - away) if length % machine.wraps_at == 0 else away for length, away in axes if away]
    return size / (max(len(distances), 1) * machine.bandwidth) + max(sum(distances), 1) * machine.hop


def _ends(shape: tuple[int, ...], group: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first, last = (
        tuple(device // prod(shape[axis + 1 :]) % max(shape[axis], 1) for axis in range(len(shape)))
        for device in (group[0], group[-1])
    )
    return first, last


def _rings(machine: Machine, shape: tuple[int, ...], number: int) -> list[tuple[int, bool]]:
    """Returns the torus axes that a group spans, each as its length and whether it is a ring."""
    whole = _product(tuple(sorted(size for size in shape if size > 1)), number)
    if whole:
        return [(size, size % machine.wraps_at == 0) for size in whole]
    return [(number, False)]


def _product(sizes: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Returns some of these sizes whose product is the given number."""
    for index, size in enumerate(sizes):
        if size == number:
            return (size,)
        if number % size == 0 and (rest := _product(sizes[index + 1 :], number // size)):
            return (size, *rest)
    return ()


def _on_hosts(machine: Machine, kind: str, size: int, groups: Groups) -> Estimate:
    number = max(map(len, groups))
    per_host = machine.per_host or 1 << 30
    hosts = max(len({device // per_host for device in group}) for group in groups)
    if kind in ("collective-permute", "collective-broadcast"):
        if hosts > 1:
            return Estimate(size / machine.network_bandwidth, machine.network)
        return Estimate(size / machine.bandwidth, machine.link)
    # Total bytes that each device must receive; those from other hosts come over the network.
    received = {
        "all-reduce": 2.0 * size,
        "reduce-scatter": float(size) * number,
    }.get(kind, float(size))
    together = max(number // hosts, 1)
    inside = received * (together - 1) / together / machine.bandwidth
    if hosts < 2 or not machine.network_bandwidth:
        return Estimate(inside, machine.link)
    adapters = 1 if kind in ("all-to-all", "ragged-all-to-all") else together
    across = received * (hosts - 1) / hosts / (adapters * machine.network_bandwidth)
    return Estimate(max(inside, across), machine.network if across > inside else machine.link)


def chips(target: Topology) -> int:
    """Returns the number of chips in a target."""
    return prod(target.shape) if target.platform == "tpu" else target.count
