"""Measures time and memory of a probe beside `python -c "import jax; jax.devices()"`, alternating in one run.

    python tests/bench/probe.py                       the Python that runs this
    python tests/bench/probe.py PYTHON --rounds 20    another one

Prints medians of wall and processor time, and peak memory, each also as a multiple of the plain program's.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from processes import timed, weighed

from meshlens.devices.runner import PROGRAM, Question, run_probe

PLAIN = "import jax; jax.devices()"


def measure(python: str, rounds: int) -> None:
    """Prints a table of the measurements."""
    programs = {
        f'python -c "{PLAIN}"': (python, "-c", PLAIN),
        "the program of the probe": (python, "-I", str(PROGRAM), "devices", "60"),
        "its level installed": (python, "-I", "-S", str(PROGRAM), "installed", "60"),
    }
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Callable[[], float]] = {
            name: lambda command=command: timed(command, Path(folder)).seconds for name, command in programs.items()
        }
        runs["run_probe, devices"] = lambda: _asked(Question(python))
        runs["run_probe, installed"] = lambda: _asked(Question(python, "installed"))
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for run in runs.values():
            run()
        for _ in range(rounds):
            for name, run in runs.items():
                before = _processor()
                taken[name].append((run(), _processor() - before))
        memory = {name: weighed(command, Path(folder)).rss for name, command in programs.items()}
    wall, processor = ({name: median(one[column] for one in rows) for name, rows in taken.items()} for column in (0, 1))
    plain = next(iter(programs))
    print(f"{python}, {rounds} rounds in turn, after one that is not counted")
    print(f"{'':38}{'wall':>9}{'times':>7}{'processor':>12}{'times':>7}{'peak':>10}{'times':>7}")
    for name in taken:
        line = f"{name:38}{wall[name]:8.3f}s{wall[name] / wall[plain]:7.2f}"
        line += f"{processor[name]:11.3f}s{processor[name] / processor[plain]:7.2f}"
        if name in memory:
            line += f"{memory[name]:7.0f}MiB{memory[name] / memory[plain]:7.2f}"
        print(line)


def _processor() -> float:
    """Returns the seconds of processor time of this program and of all its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _asked(question: Question) -> float:
    started = time.perf_counter()
    report = run_probe(question)
    taken = time.perf_counter() - started
    if report.failure:
        raise SystemExit(report.failure)
    return taken


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    measure(arguments.python, arguments.rounds)
