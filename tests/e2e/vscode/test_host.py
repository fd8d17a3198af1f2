"""Tests inside the extension host: commands, settings, the life of the server; `client/test/host` has them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packaged import unpack, vsix
from real_editors import absent, tool
from workbench import play, serving

pytestmark = pytest.mark.editors
ROOT = Path(__file__).parents[3]
TOUR = ROOT / "docs" / "tour"
# Its exit code is what the environment says.
VIRTUAL = 'import os\nimport sys\n\nsys.exit(int(os.environ["PRETENDED_DEVICES"]))\n'


def test_inside_the_extension_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = Path(shutil.copytree(TOUR, tmp_path / "tour"))
    shutil.copy(TOUR / "11_one_training_run" / "single.py", workspace)
    (workspace / "virtual.py").write_text(VIRTUAL)
    # VS Code gives tests the extension's own view of its interface only where they lie inside its folder.
    extension = unpack(vsix(), tmp_path / "unpacked")
    tests = Path(shutil.copytree(_built(), extension / "host-tests"))
    environment = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    out, profile = tmp_path / "results.jsonl", tmp_path / "profile"
    (tmp_path / "extensions").mkdir()
    told = {"extension": str(extension), "tests": str(tests / "run.js"), "out": str(out)}
    monkeypatch.setenv("HOST_TESTS", json.dumps(told))
    machine = {"meshlens.interpreter": str(environment / "bin" / "python")}
    flags = ["--disable-workspace-trust"]
    with serving(profile, tmp_path / "extensions", {}, machine, flags, MESHLENS_TEST_OUT=str(out)) as address:
        play("host", address, workspace, tmp_path / "shots", profile)
    results = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(results) > 15
    assert [one for one in results if one["failure"]] == []


def _built() -> Path:
    """The tests as one file that VS Code can load."""
    if not (ROOT / "node_modules").is_dir():
        absent("esbuild (npm ci --ignore-scripts)")
    npm = [tool("npm"), "run", "--silent", "build:tests"]
    subprocess.run(npm, cwd=ROOT, check=True, capture_output=True)
    return ROOT / "client" / "out" / "host"
