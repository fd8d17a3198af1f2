"""Hovers with the devices of a real JAX in a virtual environment of the project, with one CPU device and with eight."""

from __future__ import annotations

import importlib.util
import os
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from raw_client import Server

pytestmark = pytest.mark.jax

PLAIN: dict[str, Any] = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
SOURCE = """\
import jax
import numpy as np
from jax.sharding import Mesh

mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))


@jax.pmap
def double(x):
    return 2 * x


print(jax.local_device_count(), jax.process_count(), double)
"""


def environment(root: Path) -> str:
    """Makes a virtual environment with the JAX that runs the tests; returns its Python."""
    venv.create(root / ".venv", symlinks=True)
    packages = root / ".venv" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    found = importlib.util.find_spec("jax")
    assert found is not None
    assert found.origin is not None
    (packages / "here.pth").write_text(f"{Path(found.origin).parents[1]}\n")
    return str(root / ".venv" / "bin" / "python")


def told(root: Path, devices: int, setting: str | None) -> dict[str, str]:
    """Returns the server's answer at each place of the program, on a machine with this number of virtual devices."""
    if setting is not None:
        (root / "meshlens.toml").write_text(f"devices = {setting!r}\n".replace("'", '"'))
    alone = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PATH": os.defpath, "JAX_PLATFORMS": "cpu"}
    server = Server(root, MESHLENS_DETECT_DEVICES="1", JAX_NUM_CPU_DEVICES=str(devices), **alone)
    try:
        server.initialize(root, PLAIN, initializationOptions={"devicesDidChange": True})
        uri = (root / "main.py").as_uri()
        server.open(uri, SOURCE)
        shown = server.wait("meshlens/devicesDidChange", seconds=120)
        assert shown["failure"] is None
        words = {"summary": shown["summary"]}
        for name in ("jax.devices", "Mesh(", "jax.pmap", "jax.local_device_count", "jax.process_count"):
            before = SOURCE[: SOURCE.index(name) + len(name) - 2]
            line = before.count("\n")
            place = {"line": line, "character": len(before) - before.rfind("\n") - 1}
            found = server.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
            words[name] = found["contents"]["value"]
        about = server.request("workspace/executeCommand", {"command": "meshlens.printDebugInformation"})
        assert "jax is not imported here" in about
        return words
    finally:
        server.stop()


@pytest.mark.parametrize(("devices", "noun"), [(1, "1 CPU device"), (8, "8 CPU devices")])
def test_detected_devices(tmp_path: Path, devices: int, noun: str):
    python = environment(tmp_path)
    words = told(tmp_path, devices, None)
    # The signature and the link before it depend on the installed JAX.
    reference, _, ours = words["jax.pmap"].partition("def double(x)")
    assert reference.startswith("jax.pmap(fun, axis_name=None, ")
    assert {**words, "jax.pmap": f"def double(x){ours}"} == {
        "summary": noun,
        "jax.devices": "jax.devices: the devices of all processes.\n"
        f"Detected here: {noun}, default backend cpu (Python at {python}).",
        "Mesh(": f'Mesh with axes "data" (2) × "model" (?); here: {noun}.\nCreated at main.py:5.',
        "jax.pmap": f"def double(x)\nMapped by pmap (main.py:8), which binds no axis name, up to {noun} (detected).\n"
        "- x: mapped along axis 0\n- results: mapped along axis 0",
        "jax.local_device_count": "jax.local_device_count: the number of devices in this process.\n"
        f"Detected here: {devices} (Python at {python}).",
        "jax.process_count": f"jax.process_count: the number of processes.\nDetected here: 1 (Python at {python}).",
    }


def test_devices_that_are_here_are_drawn_where_the_code_is_meant_for_them(tmp_path: Path):
    environment(tmp_path)
    words = told(tmp_path, 8, "detected")
    assert words["Mesh("] == (
        'Mesh with axes "data" (2) × "model" (4): 8 CPU devices (detected).\n'
        "data ↓  model →\n        0  1  2  3\n        4  5  6  7\nCreated at main.py:5."
    )


def test_a_target_beside_them(tmp_path: Path):
    python = environment(tmp_path)
    words = told(tmp_path, 1, "8xH100")
    assert words["summary"] == "target 8xH100, here 1 CPU device"
    assert "up to 8 × NVIDIA H100 80GB (target 8xH100); here: 1 CPU device." in words["jax.pmap"]
    assert words["jax.devices"] == (
        "jax.devices: the devices of all processes.\n"
        "Simulated (target 8xH100): 8 × NVIDIA H100 80GB.\n"
        f"Detected here: 1 CPU device, default backend cpu (Python at {python})."
    )
