"""A workspace full of traps: in an untrusted session nothing in it runs; in a trusted one it would."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_interpreters import program
from meshlens.caches.folder import cache_of
from meshlens.devices.reports import FILE
from raw_client import Server

pytestmark = pytest.mark.slow

NAMES = ("jax", "jaxlib", "json", "platform", "tree_sitter", "sitecustomize", "usercustomize")
SOURCE = "import jax\n\nprint(jax.devices(), jax.pmap(lambda x: jax.lax.psum(x, 'i'), axis_name='i'))\n"


def plant(root: Path) -> Path:
    """Fills a workspace with everything that a Python might run by itself; returns the file that shows if one did."""
    caught = root.parent / "caught"

    def trap(name: str) -> str:
        return f"open({str(caught)!r}, 'a').write({name + chr(10)!r})\n"

    root.mkdir()
    for name in NAMES:
        (root / f"{name}.py").write_text(trap(f"{name}.py"))
    (root / "jax").mkdir()
    (root / "jax" / "__init__.py").write_text(trap("jax/__init__.py"))
    packages = root / ".venv" / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (packages / "jax").mkdir(parents=True)
    (packages / "jax" / "__init__.py").write_text(trap(".venv jax"))
    (packages / "jax-0.10.2.dist-info").mkdir()
    (packages / "jax-0.10.2.dist-info" / "METADATA").write_text("Name: jax\nVersion: 0.10.2\n")
    (packages / "trap.pth").write_text("import jax\n")
    (packages / "sitecustomize.py").write_text(trap(".venv sitecustomize"))
    (root / ".venv" / "pyvenv.cfg").write_text(f"home = {root / '.venv' / 'bin'}\n")
    python = program(root / ".venv" / "bin" / "python", f"#!{sys.executable} -IS\n{trap('.venv/bin/python')}")
    for name in ("python3", "nvidia-smi", "poetry", "uv", "conda", "hatch", "pixi"):
        program(root / ".venv" / "bin" / name, f"#!{sys.executable} -IS\n{trap(name)}")
    (root / "meshlens.toml").write_text('devices = 8\ninterpreter = ".venv/bin/python"\n')
    (root / ".pdm-python").write_text(python)
    (root / "main.py").write_text(SOURCE)
    return caught


def look_around(root: Path, options: dict[str, Any]) -> tuple[Server, str]:
    """Opens a file and requests hovers, findings and devices; returns the ended server and its debug information."""
    python = str(root / ".venv" / "bin")
    path = os.pathsep.join([python, os.environ["PATH"]])
    traps = {"VIRTUAL_ENV": str(root / ".venv"), "PATH": path, "CONDA_PREFIX": str(root / ".venv")}
    server = Server(root, MESHLENS_DETECT_DEVICES="1", **traps)
    try:
        server.initialize(root, {}, initializationOptions={**options, "devicesDidChange": True})
        uri = (root / "main.py").as_uri()
        server.open(uri, SOURCE)
        server.wait("meshlens/devicesDidChange")
        server.request("meshlens/devices", {"uri": uri, "refresh": True})
        for column in (10, 30, 50):
            place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": column}}
            server.request("textDocument/hover", place)
            server.request("textDocument/definition", place)
        server.findings(uri)
        words = server.request("workspace/executeCommand", {"command": "meshlens.printDebugInformation"})
        return server, words
    finally:
        server.stop()


@pytest.mark.parametrize("named", [None, ".venv/bin/python"])
def test_nothing_in_it_runs(tmp_path: Path, named: str | None):
    root = tmp_path / "workspace"
    caught = plant(root)
    interpreter = str(root / named) if named else None
    _, words = look_around(root, {"trusted": False, "interpreter": interpreter})
    assert not caught.exists(), caught.read_text()
    assert "the workspace is not trusted" in words
    assert "jax is not imported here" in words
    assert str(root / ".venv") not in words.partition("interpreter:")[2]
    kept = cache_of(root)
    assert kept is not None
    assert not (kept.folder / FILE).exists()


def test_the_traps_would_catch_what_runs(tmp_path: Path):
    root = tmp_path / "workspace"
    caught = plant(root)
    _, words = look_around(root, {"trusted": True})
    assert ".venv/bin/python" in caught.read_text().splitlines()
    assert "the workspace is trusted" in words


def test_trust_that_is_granted_later(tmp_path: Path):
    root = tmp_path / "workspace"
    caught = plant(root)
    server = Server(root, MESHLENS_DETECT_DEVICES="1")
    try:
        server.initialize(root, {}, initializationOptions={"trusted": False, "devicesDidChange": True})
        server.open((root / "main.py").as_uri(), SOURCE)
        server.wait("meshlens/devicesDidChange")
        assert not caught.exists()
        before = len(server.notified)
        server.notify("meshlens/didGrantTrust", {})
        assert server.wait("meshlens/devicesDidChange", before)["interpreter"] == str(root / ".venv/bin/python")
        assert caught.exists()
    finally:
        server.stop()
