"""Measures how fast and in how much memory a whole project is checked, beside ty and ruff on the same machine.

    python tests/bench/scan.py compare DIR [--rounds 7]      all tools in turn, round by round; medians and ratios
    python tests/bench/scan.py growth [--lines 1000 …]       generated code from 1,000 to 250,000 lines

Nothing is asserted, because timings on a shared machine vary.  Compare the columns of one run.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import generate
from processes import MESHLENS, Outcome, timed, weighed

_CHECK = (*MESHLENS, "check", "--exit-zero", "--output-format", "concise")
_SIZES = (1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000)


def compare(folder: Path, rounds: int) -> str:
    """Returns a table of all tools on a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        commands = _commands(scratch)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for command in commands.values():
            _complain(command, timed(command, folder))
        for number in range(rounds):
            order = list(commands)
            for name in order[number % len(order) :] + order[: number % len(order)]:
                times[name].append(timed(commands[name], folder).seconds)
        weights = {name: weighed(command, folder) for name, command in commands.items()}
    medians = {name: median(values) for name, values in times.items()}
    rows = [
        "| tool | seconds, median | fastest | × ty | × ruff | peak RSS, MiB | peak PSS, MiB |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, values in times.items():
        against = [
            f"{medians[name] / medians[other]:.2f}" if other in medians else "–" for other in ("ty", "ruff, no cache")
        ]
        weight = weights[name]
        cells = [name, f"{medians[name]:.3f}", f"{min(values):.3f}", *against, f"{weight.rss:.0f}", f"{weight.pss:.0f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def growth(sizes: list[int], rounds: int) -> str:
    """Returns a table for generated code: one package of modules that import each other, and one module."""
    head = "| lines | package, s | per 1,000 | warm, s | one module, lines | s | per 1,000 | findings |"
    rows = [head, "|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for size in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            package = Path(scratch, "package")
            lines = generate.package(package, size, seed=7)
            single = Path(scratch, "single")
            single.mkdir()
            text = generate.module(min(size, 25_000), seed=7)
            (single / "module.py").write_text(text)
            cold = _best((*_CHECK, "--no-cache", "."), package, rounds)
            timed((*_CHECK, "."), package)
            warm = _best((*_CHECK, "."), package, rounds)
            alone = _best((*_CHECK, "--no-cache", "."), single, rounds)
        count = text.count("\n")
        findings = sum(outcome.output.count(b" AX") for outcome in (cold, alone))
        cells = [f"{lines:,}", f"{cold.seconds:.2f}", f"{1000 * cold.seconds / lines:.4f}", f"{warm.seconds:.2f}"]
        cells += [f"{count:,}", f"{alone.seconds:.2f}", f"{1000 * alone.seconds / count:.4f}", str(findings)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _commands(scratch: str) -> dict[str, tuple[str, ...]]:
    commands = {
        "meshlens, no cache": (*_CHECK, "--no-cache", "."),
        "meshlens, warm": (*_CHECK, "."),
        "ty": (_tool("ty"), "check", "--exit-zero", "--output-format", "concise", "."),
        "ruff, no cache": (_tool("ruff"), "check", "--exit-zero", "--quiet", "--no-cache", "."),
        "ruff, warm": (_tool("ruff"), "check", "--exit-zero", "--quiet", "--cache-dir", f"{scratch}/ruff", "."),
    }
    return {name: command for name, command in commands.items() if command[0]}


def _tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name) or ""


def _complain(command: tuple[str, ...], outcome: Outcome) -> None:
    if outcome.code != 0:
        print(f"{' '.join(command)} exited with {outcome.code}: {outcome.errors[-500:]!r}", file=sys.stderr)


def _best(command: tuple[str, ...], folder: Path, rounds: int) -> Outcome:
    outcomes = [timed(command, folder) for _ in range(rounds)]
    _complain(command, outcomes[0])
    return min(outcomes, key=lambda outcome: outcome.seconds)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    one = modes.add_parser("compare")
    one.add_argument("folder", type=Path)
    one.add_argument("--rounds", type=int, default=7)
    two = modes.add_parser("growth")
    two.add_argument("--lines", type=int, nargs="*", default=list(_SIZES))
    two.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.mode == "compare":
        print(compare(arguments.folder.resolve(), arguments.rounds))
    else:
        print(growth(arguments.lines, arguments.rounds))


if __name__ == "__main__":
    _main()
