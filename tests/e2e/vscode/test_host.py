"""Runs the tests of `client/test/host` inside the extension host: commands, settings, the life of the server."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import write
from packaged import unpack, vsix
from real_editors import absent, tool
from workbench import plain_server, play, serving

pytestmark = pytest.mark.editors
ROOT = Path(__file__).parents[3]
TOUR = ROOT / "docs" / "tour"
# Its exit code is the value of a variable.
VIRTUAL = 'import os\nimport sys\n\nsys.exit(int(os.environ["PRETENDED_DEVICES"]))\n'


# The part that is used of the interface of an extension for Python; and an extension that never becomes ready.
STAND_IN = """
const vscode = require("vscode");
exports.activate = (context) => {
  let executable = process.env.MESHLENS_TEST_INTERPRETER;
  const changed = new vscode.EventEmitter();
  context.subscriptions.push(vscode.commands.registerCommand("pythonStandIn.choose", (chosen) => {
    executable = chosen;
    changed.fire({});
  }));
  return {
    getEnvironment: async () => ({ execInfo: { run: { executable } } }),
    onDidChangeEnvironment: changed.event,
  };
};
"""
NEVER_READY = "exports.activate = () => new Promise(() => undefined);"


def test_inside_the_extension_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    results = inside(tmp_path, monkeypatch, {}, ["--disable-workspace-trust"])
    assert len(results) > 15
    assert [one for one in results if one["failure"]] == []


@pytest.mark.deep
def test_the_server_is_told_that_nobody_trusts_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    only = {"MESHLENS_TEST_ONLY": "pretended: the server learns", "MESHLENS_TEST_TRUSTED": "no"}
    results = inside(tmp_path, monkeypatch, {"security.workspace.trust.startupPrompt": "never"}, [], **only)
    assert [one["failure"] for one in results] == [None, None, None]


@pytest.mark.deep
def test_the_python_comes_from_the_extension_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _extension(tmp_path / "extensions", "vscode-python-envs", STAND_IN)
    _extension(tmp_path / "extensions", "python", NEVER_READY)
    chosen = {"MESHLENS_TEST_INTERPRETER": str(tmp_path / "python" / "bin" / "python")}
    only = {"MESHLENS_TEST_ONLY": "pretended: the server learns"}
    results = inside(tmp_path, monkeypatch, {}, ["--disable-workspace-trust"], **chosen, **only)
    assert [one["failure"] for one in results] == [None, None, None]


def inside(
    room: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], flags: list[str], **environment: str
) -> list[dict[str, Any]]:
    """Runs the tests of `client/test/host` beside the packaged extension.

    Args:
        room: a folder for all files.
        monkeypatch: sets the variables that tell the scenario what to run.
        settings: the user's settings.
        flags: command-line flags for the server.
        environment: variables for the tests.

    Returns:
        what the tests wrote, one entry for each test.
    """
    workspace = Path(shutil.copytree(TOUR, room / "tour"))
    shutil.copy(TOUR / "11_one_training_run" / "single.py", workspace)
    (workspace / "virtual.py").write_text(VIRTUAL)
    # VS Code gives tests the extension's own view of its interface only if they are inside its folder.
    extension = unpack(vsix(), room / "unpacked")
    tests = Path(shutil.copytree(_built(), extension / "host-tests"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", room / "python"], check=True)
    out, profile = room / "results.jsonl", room / "profile"
    (room / "extensions").mkdir(exist_ok=True)
    told = {"extension": str(extension), "tests": str(tests / "run.js"), "out": str(out)}
    monkeypatch.setenv("HOST_TESTS", json.dumps(told))
    machine = {"meshlens.interpreter": str(room / "python" / "bin" / "python")}
    environment["MESHLENS_TEST_OUT"] = str(out)
    with serving(profile, room / "extensions", settings, machine, flags, plain_server, **environment) as address:
        play("host", address, workspace, room / "shots", profile)
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def _extension(room: Path, name: str, program: str) -> None:
    manifest = {"name": name, "publisher": "ms-python", "version": "1.0.0", "engines": {"vscode": "^1.91.0"}}
    manifest |= {"main": "./main.js", "activationEvents": ["onStartupFinished"]}
    write(room / f"ms-python.{name}-1.0.0", {"package.json": json.dumps(manifest), "main.js": program})


def _built() -> Path:
    """Builds the tests as one file that VS Code can load."""
    if not (ROOT / "node_modules").is_dir():
        absent("esbuild (npm ci --ignore-scripts)")
    npm = [tool("npm"), "run", "--silent", "build:tests"]
    subprocess.run(npm, cwd=ROOT, check=True, capture_output=True)
    return ROOT / "client" / "out" / "host"
