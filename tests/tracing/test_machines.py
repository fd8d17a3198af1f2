"""Lower bounds of time: within 5 % of the worked problems of "How to Scale Your Model"."""

from dataclasses import replace

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.costs import with_times
from meshlens.tracing.machines import MACHINES, least_time, machine_of
from meshlens.tracing.model import Trace


def seconds(target, kind, size, *groups):
    """Returns the least time of a collective on a target."""
    topology = parse_topology(target)
    return least_time(machine_of(topology), topology.shape, kind, size, groups).lower_bound


ACTIVATIONS, SMALL, BOOK_ARRAY = 2 * 2048 * 8192, 2 * 256 * 256, 2 * 1024 * 4096
NODE_ARRAY, MEGABYTES = 2 * 4096 * 65536, 1 << 28


@pytest.mark.parametrize(
    ("target", "kind", "size", "group", "expected"),
    [
        # How to Think About TPUs, question 5: bfloat16[8, 128, 8192] from one corner of a 4x4 slice to the other.
        ("v5e-4x4", "collective-permute", 2 * 8 * 128 * 8192, (0, 15), 194e-6),
        # Sharded Matrices, pop quiz 2: an all-gather over an axis of 4 that does not wrap around, large and small.
        ("v5e-4x8", "all-gather", ACTIVATIONS, range(4), 560e-6),
        ("v5e-4x8", "all-gather", SMALL, range(4), 3e-6),
        # Question 2: an all-gather over X of an array that is also sharded over Y, over X and Y, an all-reduce over Z.
        ("v4-4x4x4", "all-gather", BOOK_ARRAY // 4, range(4), 23e-6),
        ("v4-4x4x4", "all-gather", BOOK_ARRAY, range(16), 46e-6),
        ("v4-4x4x4", "all-reduce", BOOK_ARRAY // 16, range(4), 11.6e-6),
        # Question 3: 256 bytes, so the two hops of half a ring.
        ("v4-4x4x4", "all-gather", 256, range(4), 2e-6),
        # Question 10: over a closed ring an all-to-all takes a quarter of the time of an all-gather of all its rows.
        ("v5e-256", "all-to-all", ACTIVATIONS // 16, range(16), ACTIVATIONS / 9e10 / 4),
        # How to Think About GPUs, quiz 2, question 3.
        ("8xH100", "all-gather", NODE_ARRAY, range(8), 1.04e-3),
        # Pop quiz 1: bfloat16[1024, 16384] within a node.
        ("8xH100", "all-gather", 2 * 1024 * 16384, range(8), 65e-6),
        # Pop quiz 2: an all-to-all of B bytes takes B (N - 1) / (W N²).
        ("8xH100", "all-to-all", MEGABYTES // 8, range(8), MEGABYTES * 7 / (4.5e11 * 64)),
        # Cross-node collectives: over M nodes it takes B (M - 1) / (M² W), where W is the bandwidth of a node.
        ("2x8xH100", "all-to-all", MEGABYTES // 16, range(16), MEGABYTES / (4 * 4e11)),
        # Pop quiz 3: an all-gather over 32 nodes of an array that is also sharded over 4 or 8 GPUs of each.
        ("32x8xH100", "all-gather", MEGABYTES // 4, [8 * n + i for n in range(32) for i in (0, 4)],
         MEGABYTES * 31 / (32 * 4e11)),
        ("32x8xH100", "all-gather", MEGABYTES // 8, range(0, 256, 8), MEGABYTES * 31 / (32 * 4e11)),
        # Quiz 4, question 1: the switches between nodes limit an all-gather over all GPUs of M nodes.
        ("32x8xH100", "all-gather", MEGABYTES, range(256), MEGABYTES * 31 / (32 * 4e11)),
        # Question 5: over exactly two nodes, NVLink is the limit.
        ("2x8xH100", "all-gather", MEGABYTES, range(16), MEGABYTES * 7 / (8 * 4.5e11)),
    ],
)  # fmt: skip
def test_worked_problems_of_the_scaling_book(target, kind, size, group, expected):
    assert seconds(target, kind, size, tuple(group)) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("machine", "flops", "expected"),
    [
        # How to Think About GPUs, quiz 1, question 4: fp16[512, 4096] * fp16[4096, 8192].
        ("B200", 2 * 512 * 4096 * 8192, 15e-6),
        # Training LLaMA 3: 6 × 70e9 FLOP for each token, which the book rounds to 1 ms; 4.2e11 / 4.59e14 is 0.915 ms.
        ("v5p", 6 * 70e9, 0.915e-3),
    ],
)
def test_worked_problems_of_matrix_products(machine, flops, expected):
    blank = Trace("a.py::entry", "1", 1)
    assert with_times(replace(blank, level="traced", flops=flops), MACHINES[machine]).compute_seconds == pytest.approx(
        expected, rel=0.05
    )


@pytest.mark.parametrize(
    ("target", "kind", "size", "group", "expected"),
    [
        # A ring of 16 wraps around, so both directions carry half; v5p's cube has two rings for two axes.
        ("v5e-256", "all-gather", ACTIVATIONS, range(16), ACTIVATIONS / 9e10),
        ("v5p-4x4x4", "all-gather", ACTIVATIONS, range(16), ACTIVATIONS / (2 * 1.8e11)),
        # An all-reduce takes twice as long as an all-gather; a reduce-scatter takes as long as an all-gather.
        ("v5e-256", "all-reduce", ACTIVATIONS, range(16), 2 * ACTIVATIONS / 9e10),
        ("v5e-256", "reduce-scatter", ACTIVATIONS // 16, range(16), ACTIVATIONS / 9e10),
        ("8xH100", "all-reduce", ACTIVATIONS, range(8), 2 * ACTIVATIONS * 7 / 8 / 4.5e11),
        ("8xB200", "collective-permute", ACTIVATIONS, (0, 1), ACTIVATIONS / 9e11),
        # To the neighbor, including around the end of a ring.
        ("v5e-16x16", "collective-permute", ACTIVATIONS, (0, 1), ACTIVATIONS / 4.5e10),
        ("v5e-16x16", "collective-permute", ACTIVATIONS, (240, 0), ACTIVATIONS / 4.5e10),
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
