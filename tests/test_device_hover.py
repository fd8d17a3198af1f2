"""Hovers and lenses about devices: the configured ones, the detected ones, and which of the two is meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from meshlens.devices.report import Device, Report
from meshlens.devices.topology import parse_topology
from meshlens.ide.hovering.device_words import status
from meshlens.ide.hovering.hover import hover
from meshlens.ide.shown.inlay_hints import InlayHintsWanted, inlay_hints
from meshlens.ide.shown.lenses import lenses
from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace
from meshlens.text import Span

PYTHON = "/opt/venv/bin/python"
CPU = Report(PYTHON, "devices", devices=(Device("cpu", "cpu", 0),), default_backend="cpu", process_count=1)
GIB = 1 << 30
GPUS = replace(
    CPU,
    devices=tuple(
        Device("gpu", "NVIDIA H100 80GB HBM3", number, memory_limit=60 * GIB, memory_in_use=GIB // 2)
        for number in range(2)
    ),
    default_backend="gpu",
)
NO_JAX = Report(PYTHON, "installed", failure='jax is not installed; run "pip install jax"')
SOURCE = """\
import jax

mesh = jax.make_mesh((4, 2), ("data", "model"))


@jax.pmap
def double(x):
    return 2 * x


print(jax.devices(), jax.local_devices(), jax.device_count(), jax.process_count(), jax.local_device_count())
"""


def view_of(target: str | None, report: Report | None, source: str = SOURCE) -> FileView:
    path = Path("/project/main.py")
    devices = parse_topology(target) if target is not None else None
    workspace = open_workspace([path.parent], files=[path], devices=devices, overlay={path: source.encode()})
    return replace(workspace, detected=report).view(path)


def said(view: FileView, text: str) -> str:
    found = hover(view, view.source.index(text.encode()) + len(text) - 1, "plaintext")
    assert found is not None
    return found.text


@pytest.mark.parametrize(
    ("target", "report", "text"),
    [
        ("8xH100", CPU, "up to 8 × NVIDIA H100 80GB (target 8xH100); here: 1 CPU device."),
        ("2x4", None, "up to 8 devices (target 2x4)."),
        (None, GPUS, "up to 2 × NVIDIA H100 80GB HBM3 (detected)."),
        ("v5e-16", CPU, "up to 4 × TPU v5e on each of 4 hosts (target v5e-16); here: 1 CPU device."),
        (None, None, "which binds no axis name."),
    ],
)
def test_a_map(target, report, text):
    lines = said(view_of(target, report), "@jax.pmap").splitlines()
    assert next(line for line in lines if line.startswith("Mapped by")).endswith(text)


def test_a_map_of_a_file_that_asks_for_virtual_devices():
    source = 'import jax\n\njax.config.update("jax_num_cpu_devices", 8)\nprint(jax.pmap(abs))\n'
    assert "up to 8 CPU devices (requested by this file); here: 1 CPU device." in said(
        view_of("2x4", CPU, source), "jax.pmap"
    )


@pytest.mark.parametrize(
    ("target", "report", "text"),
    [
        ("8xH100", CPU, "8 × NVIDIA H100 80GB (target 8xH100); here: 1 CPU device."),
        ("v5e-16", None, "8 of 16 × TPU v5e (target v5e-16)."),
        ("4", CPU, "8 devices, but the target has 4 devices; here: 1 CPU device."),
        (None, GPUS, "8 devices; here: 2 × NVIDIA H100 80GB HBM3."),
        (None, None, "8 devices."),
    ],
)
def test_a_mesh(target, report, text):
    lines = said(view_of(target, report), "make_mesh").splitlines()
    assert f'Mesh with axes "data" (4) × "model" (2): {text}' in lines


@pytest.mark.parametrize(
    ("target", "report", "name", "text"),
    [
        (
            "v5e-16",
            CPU,
            "jax.devices",
            "jax.devices: the devices of all processes.\n"
            "Simulated (target v5e-16): 16 × TPU v5e on 16 chips (4 × 4), 4 hosts with 4 each.\n"
            "Detected here: 1 CPU device, default backend cpu (Python at /opt/venv/bin/python).",
        ),
        (
            None,
            GPUS,
            "jax.devices",
            "jax.devices: the devices of all processes.\n"
            "Detected here: 2 × NVIDIA H100 80GB HBM3, default backend gpu (Python at /opt/venv/bin/python).\n"
            "- 0: NVIDIA H100 80GB HBM3, 60.0 GiB, 0.5 GiB in use\n"
            "- 1: NVIDIA H100 80GB HBM3, 60.0 GiB, 0.5 GiB in use",
        ),
        (
            "v5e-16",
            None,
            "jax.local_devices",
            "jax.local_devices: the devices in this process.\nSimulated (target v5e-16): 4 of 16.",
        ),
        (
            "v5e-16",
            CPU,
            "jax.device_count",
            "jax.device_count: the number of devices across all processes.\n"
            "Simulated (target v5e-16): 16.\n"
            "Detected here: 1 (Python at /opt/venv/bin/python).",
        ),
        (
            "v5e-16",
            None,
            "jax.process_count",
            "jax.process_count: the number of processes.\nSimulated (target v5e-16): 4.",
        ),
        (
            "8",
            NO_JAX,
            "jax.local_device_count",
            "jax.local_device_count: the number of devices in this process.\n"
            "Simulated (target 8): 8.\n"
            'Here: jax is not installed; run "pip install jax"',
        ),
        (
            None,
            None,
            "jax.local_device_count",
            "jax.local_device_count: the number of devices in this process.\n"
            "No target devices are set; "
            "set devices, or write # meshlens: devices=8 at the top of the file.",
        ),
    ],
)
def test_a_question_about_devices(target, report, name, text):
    assert said(view_of(target, report), name) == text


@pytest.mark.parametrize(
    ("target", "report", "text"),
    [
        ("2x4", CPU, "target 2x4, here 1 CPU device"),
        ("8", None, "target 8"),
        (None, GPUS, "2 × NVIDIA H100 80GB HBM3"),
        (None, NO_JAX, "devices unknown"),
    ],
)
def test_a_status(target, report, text):
    assert status(view_of(target, report).devices) == text


def test_hints():
    source = (
        "import jax\nfrom jax import device_count as count\n\n"
        "print(jax.device_count(), jax.local_device_count(), jax.process_count(), x.device_count())\n"
    )

    def hints(target: str | None, report: Report | None) -> list[tuple[str, str]]:
        view = view_of(target, report, source)
        found = inlay_hints(view, InlayHintsWanted(sizes=True), Span(0, len(source)))
        return [(hint.text, hint.tooltip) for hint in found]

    assert hints("v5e-16", CPU) == [(text, "target v5e-16") for text in ("= 16", "= 4", "= 4")]
    assert hints(None, GPUS) == [(text, "detected") for text in ("= 2", "= 2", "= 1")]
    assert hints(None, None) == []


def test_a_lens():
    assert [lens.title for lens in lenses(view_of("8xH100", CPU))] == ["up to 8 × NVIDIA H100 80GB (target 8xH100)"]
