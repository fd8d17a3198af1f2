"""Runs a command and measures it: wall time, and the peak memory of the process and all its children.

Memory is read from /proc, so it is known on Linux only.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PERIOD = 0.02

MESHLENS = (sys.executable, "-I", "-m", "meshlens")


@dataclass(frozen=True)
class Outcome:
    """The result of a command.

    Attributes:
        seconds: wall time.
        code: exit status.
        output: standard output, if it was kept.
        errors: standard error.
        rss: the largest sum of the resident memory of all its processes, in MiB; shared pages count once per process.
        pss: the same, with shared pages divided among the processes that share them.
    """

    seconds: float
    code: int
    output: bytes = b""
    errors: bytes = b""
    rss: float = 0.0
    pss: float = 0.0


def timed(command: Sequence[str], cwd: Path) -> Outcome:
    """Runs a command undisturbed, and keeps its output."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    return Outcome(time.perf_counter() - started, done.returncode, done.stdout, done.stderr)


def weighed(command: Sequence[str], cwd: Path) -> Outcome:
    """Runs a command and samples its memory, which slows it down a little."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rss = pss = 0.0
    while process.poll() is None:
        family = list(_family(process.pid))
        rss = max(rss, sum(_field(pid, "status", "VmRSS:") for pid in family))
        pss = max(pss, sum(_field(pid, "smaps_rollup", "Pss:") for pid in family))
        time.sleep(_PERIOD)
    return Outcome(time.perf_counter() - started, process.returncode, rss=rss / 1024, pss=pss / 1024)


def _family(pid: int) -> list[int]:
    found = [pid]
    for known in found:
        try:
            threads = list(Path(f"/proc/{known}/task").iterdir())
            children = [child for thread in threads for child in (thread / "children").read_text().split()]
        except OSError:
            continue
        found += [int(child) for child in children]
    return found


def _field(pid: int, file: str, name: str) -> int:
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0
