"""Which environment variables a probe sees, and which paths lead into a folder from which nothing may be run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from meshlens.devices.child_environment import child_environment, search_path
from meshlens.devices.trust import interpreter_leads_into, leads_into


def test_what_devices_need_is_kept_and_what_changes_python_is_not():
    environ = {
        "HOME": "/opt/me",
        "CUDA_VISIBLE_DEVICES": "0",
        "JAX_PLATFORMS": "cuda",
        "LD_LIBRARY_PATH": "/opt/cuda",
        "TPU_WORKER_ID": "0",
        "XLA_FLAGS": "--a",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "PYTHONPATH": ".",
        "PYTHONSTARTUP": "x.py",
        "PYTHONHOME": "/opt",
        "LD_PRELOAD": "x.so",
        "VIRTUAL_ENV": "/opt/venv",
        "SECRET_TOKEN": "x",
        "PATH": os.pathsep.join(["/usr/bin", ".", "bin", "", "/usr/bin"]),
    }
    kept = child_environment(environ)
    assert kept == {
        "HOME": "/opt/me",
        "CUDA_VISIBLE_DEVICES": "0",
        "JAX_PLATFORMS": "cuda",
        "LD_LIBRARY_PATH": "/opt/cuda",
        "TPU_WORKER_ID": "0",
        "XLA_FLAGS": "--a",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "PATH": "/usr/bin",
    }


def test_an_untrusted_workspace_gets_no_programs_of_its_own(tmp_path):
    path = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin"])
    assert search_path({"PATH": path}, (tmp_path,)) == ("/usr/bin",)


@pytest.fixture
def places(tmp_path) -> dict[str, Path]:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "env" / "bin").mkdir(parents=True)
    (outside / "bin").mkdir(parents=True)
    (workspace / "env" / "bin" / "own").touch()
    (outside / "bin" / "python").touch()
    (workspace / "env" / "bin" / "python").symlink_to(outside / "bin" / "python")
    (outside / "linked").symlink_to(workspace / "env")
    (outside / "bin" / "own").symlink_to(workspace / "env" / "bin" / "own")
    (outside / "bin" / "hop").symlink_to(outside / "linked" / "bin" / "python")
    (tmp_path / "door").symlink_to(workspace)
    return {"workspace": workspace, "outside": outside, "door": tmp_path / "door"}


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("workspace/env/bin/own", True),
        ("workspace/env/bin/python", True),
        ("workspace", True),
        ("workspace/not/there", True),
        ("outside/../workspace/env", True),
        ("outside/bin/own", True),
        ("outside/linked/bin/python", True),
        ("outside/bin/hop", True),
        ("door/env/bin/python", True),
        ("outside/bin/python", False),
        ("outside", False),
        ("workspace-2/bin/python", False),
    ],
)
def test_where_a_path_leads(places, path, leads):
    base = places["workspace"].parent
    assert leads_into(base / path, (places["workspace"],)) is leads
    assert leads_into(base / path, (places["door"],)) is leads
    assert not leads_into(base / path, ())


def test_an_environment_outside_whose_python_lies_inside(places):
    environment = places["outside"]
    python = str(environment / "bin" / "python")
    assert not interpreter_leads_into(python, (places["workspace"],))
    (environment / "pyvenv.cfg").write_text(f"home = {places['workspace'] / 'env' / 'bin'}\nversion = 3.11\n")
    assert interpreter_leads_into(python, (places["workspace"],))
    assert not interpreter_leads_into(python, ())
