"""Checks a folder in a process with limits: hundreds a minute, as it is forked from one that has loaded everything.

    python tests/limited_checks.py        reads folders from stdin, one per line, and answers each with a line of JSON

The child does what `meshlens check --no-cache --output-format json` does in the folder, from `main` on.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CPU_SECONDS = 2.0
RESIDENT_MIB = 300
# What ends a runaway check is above what counts as a failure, so that the two can be told apart.
_CPU_LIMIT = 20
_WALL_LIMIT = 60
_ADDRESS_SPACE = 1 << 30

ARGUMENTS = ("check", "--no-cache", "--output-format", "json")
_ORDINARY = """\
import jax
from jax import lax


def total(x):
    return lax.psum(x, "bacth")


jax.pmap(total, axis_name="batch")
"""
TRAPPED = re.compile(r"Traceback|internal error|crashed|MemoryError|RecursionError")


@dataclass(frozen=True)
class Limited:
    """One check.

    Attributes:
        status: the exit code, or the negative number of the signal that ended the check.
        cpu: the seconds of CPU that it used.
        resident: the most memory that it held, in MiB.
        out: its stdout.
        err: its stderr, with the stack if it used up its CPU seconds.
    """

    status: int
    cpu: float
    resident: float
    out: str
    err: str


class Checks:
    """Requests checks from the process that forks them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def check(self, folder: Path) -> Limited:
        """Checks a folder, one at a time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(folder, file=self._process.stdin, flush=True)
        return Limited(**json.loads(self._process.stdout.readline()))


@contextmanager
def limited_checks(python: str = sys.executable, **environment: str) -> Iterator[Checks]:
    """Starts a process that forks checks, and ends it afterwards."""
    process = subprocess.Popen(
        [python, __file__],
        env={**os.environ, "MESHLENS_DETECT_DEVICES": "0", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Checks(process)
    finally:
        process.communicate()


def failure(ran: Limited, planted: str, cpu_seconds: float = CPU_SECONDS) -> str:
    """Names what is wrong with the check of a project with a planted finding; empty if nothing is.

    Args:
        ran: the check.
        planted: the file that holds the finding, an AX101.
        cpu_seconds: how many a check may take; tests that run beside others allow more before they call it a hang.
    """
    if ran.cpu > cpu_seconds:
        return "time"
    if ran.resident > RESIDENT_MIB or "MemoryError" in ran.err:
        return "memory"
    if ran.status < 0:
        return f"signal {-ran.status}"
    if TRAPPED.search(ran.err + ran.out):
        return "internal error"
    if ran.status != 1:
        return f"exit code {ran.status}"
    found = any(one["code"] == "AX101" and Path(one["filename"]).name == planted for one in json.loads(ran.out))
    return "" if found else "planted finding lost"


def _serve() -> None:
    import gc
    import tempfile

    for name in _needed():
        __import__(name)
    gc.freeze()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        for line in sys.stdin:
            print(json.dumps(_forked(line.removesuffix("\n"), out, err)), flush=True)


def _needed() -> list[str]:
    """Returns the modules that a check loads, by running one in a child."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as told:
        Path(folder, "program.py").write_text(_ORDINARY)
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            try:
                _main()([*ARGUMENTS])
            except SystemExit:
                json.dump([name for name in sys.modules if name.startswith("meshlens.")], told)
                told.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        told.seek(0)
        names: list[str] = json.load(told)
        return names


def _main() -> Any:
    from meshlens.cli.main import main

    return main


def _forked(folder: str, out: Any, err: Any) -> Mapping[str, Any]:
    for stream in (out, err):
        stream.seek(0)
        stream.truncate()
    child = os.fork()
    if child == 0:
        try:
            _child(folder, out.fileno(), err.fileno())
        except SystemExit as done:
            os._exit(done.code if isinstance(done.code, int) else 99)
        finally:
            os._exit(99)
    _, status, used = os.wait4(child, 0)
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return {
        "status": os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "resident": used.ru_maxrss / 1024,
        "out": texts[0],
        "err": texts[1],
    }


def _child(folder: str, out: int, err: int) -> None:
    import faulthandler
    import resource
    import signal

    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    faulthandler.enable(sys.stderr)
    faulthandler.register(signal.SIGXCPU, sys.stderr, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_LIMIT, _CPU_LIMIT + 2))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(_WALL_LIMIT)
    sys.argv = ["meshlens", *ARGUMENTS]
    _main()()


if __name__ == "__main__":
    _serve()
