"""Devices in a real session: what is reported and when, with programs that stand in for the project's Python."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_interpreters import ANSWER, answer, fake, is_alive, outlives, says
from raw_client import Failed, Server

pytestmark = pytest.mark.slow

PLAIN: dict[str, Any] = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}, "diagnostic": {}}}
SOURCE = """\
import jax

mesh = jax.make_mesh((4, 2), ("data", "model"))


@jax.pmap
def double(x):
    return 2 * x
"""
CPU = ANSWER["devices"]
H100 = [{**CPU[0], "platform": "gpu", "kind": "NVIDIA H100 80GB HBM3", "id": number} for number in range(8)]  # type: ignore[index]
CHANGED = "meshlens/devicesDidChange"


@contextmanager
def session(root: Path, options: dict[str, Any], **environment: str) -> Iterator[Server]:
    """Yields a server that queries Pythons, with a file open; the environment of the tests is not on its PATH."""
    without = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PATH": os.defpath}
    server = Server(root, MESHLENS_DETECT_DEVICES="1", **{**without, **environment})
    try:
        server.initialize(root, PLAIN, initializationOptions={"devicesDidChange": True, **options})
        server.open((root / "main.py").as_uri(), SOURCE)
        yield server
    finally:
        server.stop()


def hover(server: Server, root: Path, line: int, character: int) -> str:
    """Returns the text of a hover."""
    place = {"line": line, "character": character}
    found = server.request(
        "textDocument/hover", {"textDocument": {"uri": (root / "main.py").as_uri()}, "position": place}
    )
    return str(found["contents"]["value"])


def test_it_tells_what_the_interpreter_says(tmp_path: Path):
    python = says(tmp_path / "elsewhere", answer(devices=H100, default_backend="gpu"))
    with session(tmp_path, {"interpreter": python}) as server:
        told = server.wait(CHANGED)
        assert (told["summary"], told["failure"], told["interpreter"]) == ("8 × NVIDIA H100 80GB HBM3", None, python)
        assert [one["id"] for one in told["detected"]["devices"]] == list(range(8))
        assert "up to 8 × NVIDIA H100 80GB HBM3 (detected)." in hover(server, tmp_path, 5, 6)
        assert server.request("meshlens/devices", {"uri": (tmp_path / "main.py").as_uri()}) == {
            key: value for key, value in told.items() if key != "uri"
        }


@pytest.mark.deep
def test_a_target_and_what_is_here(tmp_path: Path):
    (tmp_path / "meshlens.toml").write_text('devices = "8xH100"\n')
    with session(tmp_path, {"interpreter": says(tmp_path / "elsewhere", answer())}) as server:
        told = server.wait(CHANGED)
        assert told["summary"] == "target 8xH100, here 1 CPU device"
        assert (told["target"]["text"], told["target"]["count"], told["target"]["shape"]) == ("8xH100", 8, [8])
        assert "up to 8 × NVIDIA H100 80GB (target 8xH100); here: 1 CPU device." in hover(server, tmp_path, 5, 6)


@pytest.mark.deep
def test_devices_that_are_here_count_where_that_is_set(tmp_path: Path):
    (tmp_path / "meshlens.toml").write_text('devices = "detected"\n')
    with session(tmp_path, {"interpreter": says(tmp_path / "elsewhere", answer())}) as server:
        server.wait(CHANGED)
        (found,) = server.findings((tmp_path / "main.py").as_uri())
        assert found["message"] == "this mesh needs 8 devices, but 1 device was detected"


@pytest.mark.deep
def test_a_file_goes_by_what_it_says_itself(tmp_path: Path):
    with session(tmp_path, {"interpreter": says(tmp_path / "elsewhere", answer())}) as server:
        server.wait(CHANGED)
        uri = (tmp_path / "own.py").as_uri()
        server.open(uri, f"# meshlens: devices=v5e-4\n{SOURCE}")
        shown = server.request("meshlens/devices", {"uri": uri})
        assert (shown["summary"], shown["origin"]) == ("target v5e-4, here 1 CPU device", "comment")
        (found,) = server.findings(uri)
        assert found["message"] == "this mesh needs 8 devices, but target v5e-4 has 4 devices"


@pytest.mark.deep
def test_a_cell_goes_by_the_project_of_its_notebook(tmp_path: Path):
    (tmp_path / "meshlens.toml").write_text("devices = 8\n")
    notebook = (tmp_path / "steps.ipynb").as_uri()
    cell = f"vscode-notebook-cell{notebook.removeprefix('file')}#W0"
    book = {"uri": notebook, "notebookType": "jupyter-notebook", "version": 1, "cells": [{"kind": 2, "document": cell}]}
    text = {"uri": cell, "languageId": "python", "version": 1, "text": SOURCE}
    with session(tmp_path, {}) as server:
        server.notify("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": [text]})
        assert server.request("meshlens/devices", {"uri": cell})["summary"].startswith("target 8")


@pytest.mark.deep
def test_it_is_asked_again_when_a_user_wants_it(tmp_path: Path):
    python = says(tmp_path / "elsewhere", answer())
    with session(tmp_path, {"interpreter": python}) as server:
        assert server.wait(CHANGED)["summary"] == "1 CPU device"
        says(tmp_path / "elsewhere", answer(devices=H100))
        assert server.request("meshlens/devices", {})["summary"] == "1 CPU device"
        assert server.request("meshlens/devices", {"refresh": True})["summary"] == "8 × NVIDIA H100 80GB HBM3"


@pytest.mark.deep
def test_another_interpreter(tmp_path: Path):
    first = says(tmp_path / "first", answer())
    second = says(tmp_path / "second", answer(devices=H100))
    with session(tmp_path, {"interpreter": first}) as server:
        assert server.wait(CHANGED)["interpreter"] == first
        before = len(server.notified)
        server.notify("meshlens/didChangeInterpreter", {"uri": tmp_path.as_uri(), "interpreter": second})
        told = server.wait(CHANGED, before)
        assert (told["interpreter"], told["summary"]) == (second, "8 × NVIDIA H100 80GB HBM3")


@pytest.mark.deep
def test_a_failure_is_one_sentence(tmp_path: Path):
    with session(tmp_path, {"interpreter": fake(tmp_path / "elsewhere", "print('no JSON')")}) as server:
        told = server.wait(CHANGED)
        assert told["summary"] == "devices unknown"
        assert told["failure"]
        assert "\n" not in told["failure"]


@pytest.mark.deep
def test_a_switch(tmp_path: Path):
    asked = tmp_path / "asked"
    python = fake(tmp_path / "elsewhere", f"open({str(asked)!r}, 'w').close()")
    with session(tmp_path, {"interpreter": python, "settings": {"detectDevices": False}}) as server:
        server.request("meshlens/devices", {"refresh": True})
        assert not asked.exists()
        server.notify("workspace/didChangeConfiguration", {"settings": {"meshlens": {"detectDevices": True}}})
        server.request("meshlens/devices", {"refresh": True})
        assert asked.exists()


@pytest.mark.deep
def test_answers_are_right_while_an_interpreter_hangs(tmp_path: Path):
    number = tmp_path / "number"
    python = fake(
        tmp_path / "elsewhere",
        f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(number)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)",
    )
    with session(tmp_path, {"interpreter": python}) as server:
        refresh = server.ask("meshlens/devices", {"refresh": True})
        while not (number.exists() and number.read_text()):
            time.sleep(0.02)
        uri = (tmp_path / "main.py").as_uri()
        assert "def double(x)\nMapped by pmap (main.py:6)" in hover(server, tmp_path, 5, 6)
        for version in range(2, 12):
            server.change(uri, version, {"text": f"{SOURCE}\njax.lax.psum(1, 'axis{version}')\n"})
            (found,) = server.findings(uri)
            assert f'axis "axis{version}" is not bound here' in found["message"]
        assert server.request("meshlens/devices", {"uri": uri})["detected"] is None
        shown = server.request("workspace/executeCommand", {"command": "meshlens.printDebugInformation"})
        assert "jax is not imported here" in shown
        assert is_alive(int(number.read_text()))
        del refresh
    assert not outlives(int(number.read_text()))


@pytest.mark.deep
def test_meshes(tmp_path: Path):
    (tmp_path / "meshlens.toml").write_text("devices = 8\n")
    with session(tmp_path, {"interpreter": says(tmp_path / "elsewhere", answer())}) as server:
        shown = server.request("meshlens/meshes", {"uri": (tmp_path / "main.py").as_uri()})
        assert shown == {
            "meshes": [
                {
                    "label": "mesh",
                    "axes": [{"name": "data", "size": 4, "color": 5}, {"name": "model", "size": 2, "color": 0}],
                    "range": {"start": {"line": 2, "character": 7}, "end": {"line": 2, "character": 47}},
                    "devices": [0, 1, 2, 3, 4, 5, 6, 7],
                }
            ],
            "functions": [
                {
                    "name": "double",
                    "range": {"start": {"line": 6, "character": 4}, "end": {"line": 6, "character": 10}},
                    "axes": [],
                    "binder": "pmap",
                }
            ],
            "focus": None,
        }


def test_virtual_devices(tmp_path: Path):
    with session(tmp_path, {}, XLA_FLAGS="--xla_dump_to=/x --xla_force_host_platform_device_count=2") as server:
        shown = server.request("meshlens/virtualDevices", {"devices": "2x4"})
        assert shown["env"] == {
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": "8",
            "XLA_FLAGS": "--xla_dump_to=/x --xla_force_host_platform_device_count=8",
        }
        with pytest.raises(Failed, match=r'^"devices": expected a number of devices \(8\)'):
            server.request("meshlens/virtualDevices", {"devices": "many"})


def test_one_python_for_what_is_shown_and_what_is_run(tmp_path: Path):
    """Checks the environment of the folder, which no setting and no editor names, before and after it is queried."""
    python = says(tmp_path / ".venv" / "bin", answer())
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    uri = (tmp_path / "main.py").as_uri()
    with session(tmp_path, {}) as server:
        run = server.request("meshlens/virtualDevices", {"devices": 8, "uri": uri})
        assert (run["interpreter"], run["failure"]) == (python, None)
        assert server.wait(CHANGED)["interpreter"] == python
        assert server.request("meshlens/devices", {"uri": uri})["interpreter"] == python


def test_without_trust_it_says_that_and_blames_nothing_else(tmp_path: Path):
    says(tmp_path / ".venv" / "bin", answer())
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    with session(tmp_path, {"trusted": False}) as server:
        told = server.wait(CHANGED)
        assert told["summary"] == "workspace not trusted: devices not checked"
        assert told["failure"].startswith(
            "the workspace is not trusted, so MeshLens does not query its Python for devices;"
        )
        run = server.request("meshlens/virtualDevices", {"devices": 8})
        assert (run["interpreter"], run["failure"]) == (
            None,
            "the workspace is not trusted; trust it to run its programs",
        )


def test_an_environment_that_is_made_later_is_noticed(tmp_path: Path):
    elsewhere = says(tmp_path / "elsewhere", answer())
    root = tmp_path / "project"
    root.mkdir()
    with session(root, {}, PATH=str(tmp_path / "elsewhere")) as server:
        assert server.wait(CHANGED)["interpreter"] == elsewhere
        before = len(server.notified)
        packages = root / ".venv" / "lib" / "python3.12" / "site-packages"
        (packages / "jax-0.4.30.dist-info").mkdir(parents=True)
        (packages / "jax-0.4.30.dist-info" / "METADATA").write_text("Name: jax\nVersion: 0.4.30\n")
        python = says(root / ".venv" / "bin", answer(devices=H100))
        (root / ".venv" / "pyvenv.cfg").touch()
        told = server.wait(CHANGED, before)
        assert (told["interpreter"], told["summary"]) == (python, "8 × NVIDIA H100 80GB HBM3")


def test_another_target_in_the_settings_is_told(tmp_path: Path):
    with session(tmp_path, {"interpreter": says(tmp_path / "elsewhere", answer())}) as server:
        assert server.wait(CHANGED)["summary"] == "1 CPU device"
        server.notify("workspace/didChangeConfiguration", {"settings": {"meshlens": {"devices": "8xH100"}}})
        server.until(lambda: _summaries(server)[-1] == "target 8xH100, here 1 CPU device")


def _summaries(server: Server) -> list[str]:
    return [one["params"]["summary"] for one in server.notified if one["method"] == CHANGED]
