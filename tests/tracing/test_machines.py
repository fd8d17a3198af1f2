"""Lower bounds of time: within 5 % of the formulas of the scaling book."""

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.machines import MACHINES, least_time, machine_of


def seconds(target, kind, size, *groups):
    """The least time of a collective on a target."""
    topology = parse_topology(target)
    return least_time(machine_of(topology), topology.shape, kind, size, groups).lower_bound


GATHERED = 2 * 2048 * 8192


@pytest.mark.parametrize(
    ("target", "kind", "size", "group", "expected"),
    [
        # Sharded Matrices, pop quiz 2: AllGather of bf16[2048, 8192] over an axis of 4 of a 4x8 slice, which does not
        # wrap around: 3 hops of 34e6 / 4 bytes at 4.5e10.
        ("v5e-4x8", "all-gather", GATHERED, range(4), 3 * GATHERED / 4 / 4.5e10),
        # The same over a ring of 16, where both directions are used: V / (2 × 4.5e10).
        ("v5e-256", "all-gather", GATHERED, range(16), GATHERED / 9e10),
        # bf16[256, 256] over 4: each hop would take less than 1 µs, so three hops take 3 µs.
        ("v5e-4x8", "all-gather", 2 * 256 * 256, range(4), 3e-6),
        # Over both axes of a v5p cube: two rings at once.
        ("v5p-4x4x4", "all-gather", GATHERED, range(16), GATHERED / (2 * 1.8e11)),
        # An all-reduce takes twice as long as an all-gather, a reduce-scatter as long as one of its input.
        ("v5e-256", "all-reduce", GATHERED, range(16), 2 * GATHERED / 9e10),
        ("v5e-256", "reduce-scatter", GATHERED // 16, range(16), GATHERED / 9e10),
        # An all-to-all moves a quarter of what an all-gather does.
        ("v5e-256", "all-to-all", GATHERED // 16, range(16), GATHERED / 9e10 / 4),
        # GPUs, within a node: each receives 7 of 8 parts at 450e9; the book's B / W.
        ("8xH100", "all-gather", GATHERED, range(8), GATHERED * 7 / 8 / 4.5e11),
        ("8xH100", "all-reduce", GATHERED, range(8), 2 * GATHERED * 7 / 8 / 4.5e11),
        # Across four nodes with all of their GPUs: 3 of 4 parts at 400e9 for each node, or 7 of 8 within it at 450e9.
        ("4x8xH100", "all-gather", GATHERED, range(32), GATHERED * 7 / 8 / 4.5e11),
        # One GPU of each of four nodes has its own adapter alone.
        ("4x8xH100", "all-gather", GATHERED, range(0, 32, 8), GATHERED * 3 / 4 / 5e10),
        ("8xB200", "collective-permute", GATHERED, (0, 1), GATHERED / 9e11),
    ],
)
def test_the_least_time_of_a_collective(target, kind, size, group, expected):
    assert seconds(target, kind, size, tuple(group)) == pytest.approx(expected, rel=0.05)


def test_the_network_is_named_where_it_limits():
    topology = parse_topology("4x8xH100")
    machine = machine_of(topology)
    assert least_time(machine, topology.shape, "all-reduce", 1 << 20, (tuple(range(8)),)).link == "NVLink"
    assert least_time(machine, topology.shape, "all-reduce", 1 << 20, (tuple(range(0, 32, 8)),)).link == "InfiniBand"


def test_every_machine_has_its_numbers():
    for name, machine in MACHINES.items():
        assert machine.flops > 1e14, name
        assert machine.memory_bandwidth > 1e12 or name == "v5e"
        assert machine.bandwidth > machine.network_bandwidth


def test_a_target_without_a_machine():
    assert machine_of(parse_topology("4x4")) is None
    assert machine_of(parse_topology("8xL40S")) is None
