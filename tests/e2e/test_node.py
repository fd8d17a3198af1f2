"""VS Code's own protocol library against the server, in every position encoding."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from real_editors import COMMAND, project, run, tool

pytestmark = pytest.mark.editors
HERE = Path(__file__).parent / "node"
SHOWN = {
    "symbols": ["step"],
    "everywhere": ["step"],
    "incoming": ["train"],
    "outgoing": ['psum "batch"', 'pmean "batch"'],
    "lenses": ["up to 8 devices (target 8) · axis batch · 2 collectives"],
    "hints": ["axes: batch"],
}


def test_the_protocol_library_of_vs_code(tmp_path: Path):
    node = tool("node")
    if not (HERE / "node_modules").is_dir():
        _install()
    done = run([node, HERE / "client.mjs", project(tmp_path), *COMMAND], tmp_path)
    *sessions, verdict = done.stdout.splitlines()
    assert verdict == "PASS"
    seen = [json.loads(session) for session in sessions]
    assert [one["shown"] for one in seen] == [SHOWN] * 6
    assert [(one["encoding"], one["pulls"]) for one in seen] == [
        (encoding, pulls) for encoding in ("utf-8", "utf-16", "utf-32") for pulls in (False, True)
    ]


def _install() -> None:
    npm = [tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(npm, cwd=HERE, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        # A partial installation would be taken for a complete one the next time.
        shutil.rmtree(HERE / "node_modules", ignore_errors=True)
        pytest.fail(error.stderr, pytrace=False)
