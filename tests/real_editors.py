"""Real editors for tests: where they are, what they open, and what a script inside them reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import meshlens
from command_line import write
from launched import SERVER

COMMAND = (sys.executable, *SERVER)
SECONDS = 120
EDITORS = Path(__file__).parents[1] / "docs" / "editors.md"

FILES = {
    "pyproject.toml": "",
    "names.py": 'AXIS = "batch"\n',
    "train.py": """import jax

from names import AXIS


def step(x):
    return "é𝛼", jax.lax.psum(x, "bacth"), jax.lax.pmean(x, "batch")


parallel = jax.pmap(step, axis_name=AXIS)
rows = jax.numpy.ones((8, 3))
parallel(rows)
""",
}
FIXED = FILES["train.py"].replace("bacth", "batch")
RENAMED = FIXED.replace('"batch"', '"rows"')


def tool(*names: str | Path) -> str:
    """Returns the first of some programs that is installed; if none is, skips the test, or fails it in CI."""
    for name in names:
        if found := shutil.which(str(name)):
            return found
    return absent(" or ".join(Path(name).name for name in names))


def absent(what: str) -> Any:
    """Skips a test because something is not installed; in CI, fails it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed", pytrace=False)
    pytest.skip(f"{what} is not installed")


def neovim(version: tuple[int, int]) -> str:
    """Returns a Neovim of a version: beside this Python, where a package puts it, or from the distribution."""
    wanted = f"NVIM v{version[0]}.{version[1]}."
    for place in (Path(sys.executable).parent / "nvim", Path("/usr/bin/nvim")):
        if place.is_file():
            shown = subprocess.run([place, "--version"], capture_output=True, text=True, check=False).stdout
            if shown.startswith(wanted):
                return tool(place)
    return absent(f"Neovim {version[0]}.{version[1]}")


def project(root: Path) -> Path:
    """Writes the files that every editor opens: one with a typo, and a name used in two files."""
    return write(root, FILES)


def documented(heading: str, language: str) -> list[str]:
    """Returns the code blocks of a language below a heading of docs/editors.md, which users are told to copy."""
    section = EDITORS.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs an editor until it exits, with a home folder of its own; if it fails, its output is the message."""
    home = folder / ".home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "XDG_CONFIG_HOME": str(home),
            "XDG_STATE_HOME": str(home),
            "PYTHONPATH": str(Path(meshlens.__file__).parents[1]),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def said(output: str) -> Mapping[str, Any]:
    """Returns what a script reported: one JSON object per line, merged into one."""
    found: dict[str, Any] = {}
    for line in output.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
    return found
