"""Runs programs one after another in one process with eight virtual CPU devices, and compares what they print.

The cost of a program is its compilation: JAX and its libraries are imported once, and XLA skips most optimizations.
A run that takes too long, or that ends the process, costs that process.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import re
import runpy
import selectors
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import virtual_devices

_NUMBER = re.compile(r"-?\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
SECONDS = 120
_RUNS_OF_A_PROCESS = 150
ENVIRONMENT = {**virtual_devices.environment(), "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Printed:
    """The output of a program, and why the program ended early, if it did."""

    text: str
    error: str


@dataclass(eq=False)
class Runner:
    """A process that runs programs.

    Attributes:
        python: the interpreter, with JAX and what the programs import.
        seconds: how long a program may run.
    """

    python: str = field(default_factory=lambda: os.environ.get("MESHLENS_JAX_PYTHON", sys.executable))
    seconds: float = SECONDS
    _process: subprocess.Popen[str] | None = None
    _runs: int = 0

    def run(self, main: Path) -> Printed:
        """Returns what a program prints."""
        process = self._ready()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{main}\n")
        process.stdin.flush()
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        answer = process.stdout.readline() if selector.select(self.seconds) else ""
        selector.close()
        if not answer:
            self.close()
            return Printed("", "the run took too long, or its process ended")
        return Printed(*json.loads(answer))

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ready(self) -> subprocess.Popen[str]:
        if self._runs % _RUNS_OF_A_PROCESS == 0:
            self.close()
        self._runs += 1
        if self._process is None:
            self._process = subprocess.Popen(
                [self.python, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **ENVIRONMENT},
            )
            atexit.register(self._process.kill)
        return self._process


def unequal(before: str, after: str, tolerance: float) -> str:
    """Returns how the output of a program differs from an earlier output; empty if it does not.

    Args:
        before: what the program printed before.
        after: what the program prints now.
        tolerance: how far numbers may be apart, absolute if they are small and relative if they are large.
    """
    if "".join(_NUMBER.sub("", before).split()) != "".join(_NUMBER.sub("", after).split()):
        return f"other words: {_first_difference(before, after)}"
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=False)
    for one, other in pairs:
        if one == other:
            continue
        if not abs(float(one) - float(other)) <= tolerance * max(1.0, abs(float(one))):
            return f"{one} before, {other} after"
    if len(_NUMBER.findall(before)) != len(_NUMBER.findall(after)):
        return "another count of numbers"
    return ""


def numbers_in(text: str) -> list[float]:
    """Returns the numbers in what a program printed."""
    return [float(one) for one in _NUMBER.findall(text)]


def _first_difference(before: str, after: str) -> str:
    for one, other in zip(before.split("\n"), after.split("\n"), strict=False):
        if _NUMBER.sub("", one) != _NUMBER.sub("", other):
            return f"{one!r} before, {other!r} after"
    return "more or fewer lines"


def _printed(main: Path) -> tuple[str, str]:
    known = set(sys.modules)
    sys.path.insert(0, str(main.parent))
    os.chdir(main.parent)
    sys.argv = [str(main)]
    printed = io.StringIO()
    error = ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            runpy.run_path(str(main), run_name="__main__")
        except BaseException:
            error = traceback.format_exc(limit=-3)
    sys.path.remove(str(main.parent))
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(main.parent)):
            del sys.modules[name]
    return printed.getvalue(), error


def _serve(lines: Iterator[str], answers: io.TextIOBase) -> None:
    for line in lines:
        answers.write(json.dumps(_printed(Path(line.rstrip("\n")))) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin, sys.stdout)  # type: ignore[arg-type]
