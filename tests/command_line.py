"""Runs the command line inside the test's own process, in a given folder."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import meshlens as meshlens_package
from launched import PROGRAM
from meshlens.cli.main import main

TYPO = """\
import jax
from functools import partial


@partial(jax.pmap, axis_name="batch")
def step(x):
    return jax.lax.pmean(x, "bacth")
"""

FIXED = TYPO.replace("bacth", "batch")

CLEAN = "import jax\n\nprint(jax.devices())\n"

CELL: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}


@dataclass(frozen=True)
class Ran:
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def meshlens(*arguments: str | Path, cwd: Path, stdin: bytes = b"", terminal: bool = False) -> Ran:
    """Runs `meshlens` with these arguments in a folder."""
    kind = _Terminal if terminal else io.TextIOWrapper
    written = {name: io.BytesIO() for name in ("stdout", "stderr")}
    streams = {name: kind(buffer, encoding="utf-8") for name, buffer in written.items()}
    kept = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    here = Path.cwd()
    os.chdir(cwd)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    sys.stdout, sys.stderr = streams["stdout"], streams["stderr"]
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as done:
        code = done.code
    finally:
        os.chdir(here)
        for name, stream in kept.items():
            setattr(sys, name, stream)
    texts = []
    for name in ("stdout", "stderr"):
        streams[name].flush()
        texts.append(written[name].getvalue().decode("utf-8"))
    assert isinstance(code, int)
    return Ran(code, *texts)


def start(*arguments: str, cwd: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Starts `meshlens` as a separate process, with variables added to its environment."""
    package = str(Path(meshlens_package.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, *PROGRAM, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": package, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_interruptible if os.name == "posix" else None,
    )


def _interruptible() -> None:
    """Enables Ctrl-C even if the tests run in the background of a shell, whose programs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files below a folder, and returns the folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
