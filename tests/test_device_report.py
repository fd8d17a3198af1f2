"""The report of a probe: in words, as JSON and back."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from meshlens.devices.report import BadReport, Device, Report, from_json, summary, to_json

H100 = "NVIDIA H100 80GB HBM3"
CPU = Report(
    interpreter="/opt/venv/bin/python",
    level="devices",
    python="3.11.8",
    versions=(("jax", "0.10.2"), ("jaxlib", "0.10.2")),
    devices=(Device("cpu", "cpu", 0),),
    default_backend="cpu",
    process_count=1,
    seconds=0.5,
)
TPU = Device("tpu", "TPU v4", 3, coordinates=(1, 1, 0), core_on_chip=0, memory_limit=34359738368, memory_in_use=0)


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ((Device("cpu", "cpu", 0),), "1 CPU device"),
        (tuple(Device("cpu", "cpu", number) for number in range(8)), "8 CPU devices"),
        (tuple(Device("gpu", H100, number) for number in range(8)), f"8 × {H100}"),
        ((Device("gpu", H100, 0),), f"1 × {H100}"),
        ((Device("gpu", "A", 0), Device("gpu", "B", 1), Device("gpu", "A", 2)), "2 × A, 1 × B"),
        ((TPU, replace(TPU, id=4, process_index=1, local=False)), "2 × TPU v4, 1 of them local"),
        ((), "no devices"),
    ],
)
def test_devices_in_words(devices, words):
    assert summary(replace(CPU, devices=devices)) == words


def test_what_the_machine_has_is_named_where_jax_was_not_started():
    assert summary(Report("python", "installed", accelerators=(Device("gpu", H100, 0),))) == f"1 × {H100}"


@pytest.mark.parametrize("report", [CPU, replace(CPU, devices=(TPU,)), Report("python", "installed", failure="no")])
def test_json_and_back(report):
    assert from_json(json.loads(json.dumps(to_json(report)))) == report


def test_versions_are_found_by_name():
    assert CPU.version("jax") == "0.10.2"
    assert CPU.version("flax") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contract": 2}, "format 2 instead of 1"),
        ({"contract": None}, "format None instead of 1"),
        ({"versions": []}, '"versions" is not an object'),
        ({"level": "all"}, '"level" is "all"'),
        ({"interpreter": 3}, '"interpreter" is not a string'),
        ({"devices": {}}, '"devices" is not a list'),
        ({"devices": [1]}, '"devices" contains something that is not a device'),
        ({"process_count": "one"}, '"process_count" is not a number'),
    ],
)
def test_what_is_no_report_is_refused(change, message):
    with pytest.raises(BadReport, match=f"^{re.escape(message)}$"):
        from_json({**to_json(CPU), **change})


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(BadReport, match=r"^not an object$"):
        from_json(value)
