"""Times and weighs a probe beside `python -c "import jax; jax.devices()"`, taking turns in one run.

    python tests/bench/probe.py                       the Python that runs this
    python tests/bench/probe.py PYTHON --rounds 20    another one

Prints medians of wall time, peaks of memory, and both as a multiple of the plain program.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.processes import timed, weighed
from meshlens.devices.runner import PROGRAM, Question, run_probe

PLAIN = "import jax; jax.devices()"


def measure(python: str, rounds: int) -> None:
    """Prints the table."""
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
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for run in runs.values():
            run()
        for _ in range(rounds):
            for name, run in runs.items():
                seconds[name].append(run())
        memory = {name: weighed(command, Path(folder)).rss for name, command in programs.items()}
    plain, plain_memory = next(iter(seconds.values())), next(iter(memory.values()))
    print(f"{python}, {rounds} rounds in turn, after one that is not counted")
    print(f"{'':38}{'median':>9}{'least':>9}{'times':>8}{'peak':>11}{'times':>8}")
    for name, taken in seconds.items():
        line = f"{name:38}{median(taken):8.3f}s{min(taken):8.3f}s{median(taken) / median(plain):8.2f}"
        if name in memory:
            line += f"{memory[name]:8.0f}MiB{memory[name] / plain_memory:8.2f}"
        print(line)


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
