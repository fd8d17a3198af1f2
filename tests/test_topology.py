"""Topologies: how they are written, what they mean, and what is said if they mean nothing."""

from __future__ import annotations

import pytest

from meshlens.devices.report import Device, Report
from meshlens.devices.topology import (
    BadTopology,
    coordinates,
    describe,
    devices_of,
    named,
    parse_topology,
    topology_of,
)
from meshlens.settings import BadSetting, parse, shown


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (8, "8 devices"),
        ("1", "1 device"),
        ("2x4", "2x4: 8 devices (2 × 4)"),
        ("2 × 2, 2", "2x2x2: 8 devices (2 × 2 × 2)"),
        ("v2-8", "v2-8: 8 × TPU v2 on 4 chips (2 × 2)"),
        ("v3-32", "v3-32: 32 × TPU v3 on 16 chips (4 × 4), 4 hosts with 8 each"),
        ("v4-8", "v4-8: 4 × TPU v4 on 4 chips (2 × 2 × 1)"),
        ("v4-16", "v4-16: 8 × TPU v4 on 8 chips (2 × 2 × 2), 2 hosts with 4 each"),
        ("v4-2x2x4", "v4-2x2x4: 16 × TPU v4 on 16 chips (2 × 2 × 4), 4 hosts with 4 each"),
        ("v5p-8", "v5p-8: 4 × TPU v5p on 4 chips (2 × 2 × 1)"),
        ("v5litepod-8", "v5e-8: 8 × TPU v5e on 8 chips (2 × 4)"),
        ("TPU v5e-16", "v5e-16: 16 × TPU v5e on 16 chips (4 × 4), 4 hosts with 4 each"),
        ("v6e-1", "v6e-1: 1 × TPU v6e on 1 chip (1 × 1)"),
        ("8xh100", "8xH100: 8 × NVIDIA H100 80GB"),
        ("4x8xH100", "4x8xH100: 32 × NVIDIA H100 80GB, 4 hosts with 8 each"),
        ("8xcpu", "8xcpu: 8 CPU devices"),
    ],
)
def test_what_a_text_means(value, words):
    assert describe(parse_topology(value)) == words


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        (True, 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        (-1, 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        (1.5, 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        ("2x", 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        ("2x0", 'expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100")'),
        ("10000000", "expected at most 1,000,000 devices"),
        ("v9-8", 'expected a known TPU version (v2, v3, v4, v5e, v5p, v6e), not "v9"'),
        ("v5e-12", 'expected a v5e slice of 1, 4, 8, 16, 32, 64, 128, 256 chips, or a layout such as "v5e-4x4"'),
        (
            "v3-4",
            'expected a v3 slice of 8, 32, 64, 128, 256, 512, 1024, 2048 TensorCores, or a layout such as "v3-4x4"',
        ),
        ("v4-4x4", 'expected 3 sizes for v4, as in "v4-4x4x4"'),
        ("8xH10", 'expected a known GPU, not "H10"; did you mean "8xH100"?'),
    ],
)
def test_what_is_said_of_a_text_that_means_nothing(value, message):
    with pytest.raises(BadTopology) as raised:
        parse_topology(value)
    assert str(raised.value) == message


def test_a_core_is_a_device_where_the_version_has_no_megacore():
    assert coordinates(parse_topology("v3-8")) == (
        *((0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0), (1, 0, 0, 1)),
        *((0, 1, 0, 0), (0, 1, 0, 1), (1, 1, 0, 0), (1, 1, 0, 1)),
    )


def test_ids_count_along_x_first():
    places = coordinates(parse_topology("v5e-16"))
    assert (places[1], places[4], places[15]) == ((1, 0, 0, 0), (0, 1, 0, 0), (3, 3, 0, 0))


def test_a_report_is_a_topology_too():
    gpus = tuple(Device("gpu", "NVIDIA H100 80GB HBM3", number) for number in range(8))
    found = topology_of(Report("/venv/bin/python", "devices", devices=gpus, process_count=1))
    assert found is not None
    assert (devices_of(found), named(found)) == ("8 × NVIDIA H100 80GB HBM3", "detected devices")
    assert topology_of(Report("/venv/bin/python", "installed")) is None


@pytest.mark.parametrize(
    ("written", "again"), [(8, "8"), ("2 x 4", '"2x4"'), ("v5e-16", '"v5e-16"'), ("detected", '"detected"')]
)
def test_the_setting_takes_them(written, again):
    assert shown(parse("devices", written)) == again


def test_the_setting_says_what_it_takes():
    with pytest.raises(BadSetting) as raised:
        parse("devices", "many")
    assert str(raised.value) == (
        '"devices": expected a number of devices (8), a shape ("2x4"), a TPU slice ("v5e-16") or GPUs ("8xH100"), '
        'not "many"'
    )
