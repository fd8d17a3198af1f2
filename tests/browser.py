"""A browser for tests: runs a script that drives it, passes the script its parameters and returns what it saw."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError

from real_editors import tool

HERE = Path(__file__).parent / "e2e"
SECONDS = 300


def drive(script: Path, shots: Path, **told: Any) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Runs a script of `tests/e2e` that drives a browser.

    Args:
        script: a Node module.
        shots: where screenshots go.
        told: the script's parameters.

    Returns:
        the finished process, and the JSON of its last line of output.
    """
    if not (HERE / "node_modules").is_dir():
        npm = [tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(npm, cwd=HERE, check=True, capture_output=True)
    shots.mkdir(parents=True, exist_ok=True)
    scenario = {"shots": str(shots), "chromium": tool("chromium", "chromium-browser", "google-chrome"), **told}
    done = subprocess.run(
        [tool("node"), script],
        env={**os.environ, "SCENARIO": json.dumps(scenario)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.strip().splitlines()
    return done, json.loads(said[-1]) if done.returncode == 0 and said else {}


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Waits until a server answers.

    Raises:
        TimeoutError: the server has ended, or does not answer in time.
    """
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        time.sleep(0.1)
    raise TimeoutError(f"nobody answers at {address}")


def notebook(*cells: str) -> str:
    """Returns the JSON of a Python notebook with these cells."""
    code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    written: Sequence[Any] = [{**code, "id": f"c{number}", "source": cell} for number, cell in enumerate(cells)]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
    }
    return json.dumps({"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
