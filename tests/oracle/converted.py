"""Converts every pmap of the oracle programs to shard_map, runs the results, and counts; `python -m oracle.converted`.

The installed JAX decides how it is written: `jax.experimental.shard_map` and `check_rep` before JAX 0.6.1.
"""

from __future__ import annotations

import ast
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numbers_of_programs
from meshlens.jaxapi.history import NEWEST, parse_version
from meshlens.project.workspace import open_workspace
from meshlens.refactoring.everywhere import Job, Outcome, convert_everywhere
from meshlens.refactoring.maps.pmap import applications
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.registry import assist_named
from oracle.rerun import Program, programs

LABELLED = (0, 10, 2)
_DOES_NOT_RUN = "the program does not run"


@dataclass(frozen=True)
class Comparison:
    """The result of converting a program.

    Attributes:
        outcomes: the outcome of each pmap.
        runs: whether it runs under this JAX before anything is converted.
        differences: where the converted program's results differ, if the program runs.
    """

    outcomes: tuple[Outcome, ...]
    runs: bool
    differences: tuple[str, ...]


def installed() -> tuple[int, ...]:
    """Returns the version of the installed JAX; the newest known version if none is installed."""
    try:
        return parse_version(version("jax")) or NEWEST
    except PackageNotFoundError:
        return NEWEST


def with_pmap() -> list[Program]:
    """Returns the programs that mention pmap."""
    return [program for program in programs() if any(b"pmap" in file.read_bytes() for file in program.files)]


def converted(program: Program, room: Path) -> tuple[Outcome, ...]:
    """Copies a program and converts the copy; returns the outcomes of its pmaps."""
    if program.is_package:
        shutil.copytree(program.main.parent, room)
    else:
        room.mkdir()
        shutil.copy(program.main, room / "main.py")
    files = sorted(room.rglob("*.py"))
    workspace = open_workspace([room], files=files, jax_version=installed())
    jobs = [Job(file, applications) for file in files]
    done = convert_everywhere(workspace, jobs, assist_named("pmap-to-shard-map"), Wishes())
    for path, source in done.sources.items():
        ast.parse(source)
        path.write_bytes(source)
    return tuple(outcome for found in done.outcomes for outcome in found)


def compared(program: Program, room: Path) -> Comparison:
    """Converts a program and runs it before and after."""
    outcomes = converted(program, room)
    found = numbers_of_programs.differences(program.main, room / "main.py")
    runs = not any(one.startswith(_DOES_NOT_RUN) for one in found)
    return Comparison(outcomes, runs, tuple(found) if runs else ())


def main(names: Sequence[str]) -> int:
    """Compares all programs, or those with one of these words in their names, and prints the result."""
    reasons: Counter[str] = Counter()
    converted_pmaps, wrong, not_running = 0, [], 0
    chosen = [one for one in with_pmap() if not names or any(name in one.name for name in names)]
    with tempfile.TemporaryDirectory() as room:
        for program in chosen:
            found = compared(program, Path(room) / program.name)
            if not found.runs:
                not_running += 1
                continue
            reasons.update(outcome.refused.code for outcome in found.outcomes if outcome.refused is not None)
            converted_pmaps += sum(outcome.refused is None for outcome in found.outcomes)
            wrong += [f"{program.name}: {one}" for one in found.differences]
    print(*wrong, sep="\n")
    refused = sum(reasons.values())
    print(f"JAX {version('jax')}: {len(chosen)} programs with a pmap, {len(chosen) - not_running} run;", end=" ")
    print(f"of their {converted_pmaps + refused} pmaps {converted_pmaps} converted, {refused} refused,", end=" ")
    print(f"{len({one.split(':')[0] for one in wrong})} programs wrong")
    print(", ".join(f"{code} {count}" for code, count in reasons.most_common()))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
