"""Applies the assists of the pages and cases under the installed JAX, runs the results, and counts.

    python -m oracle.pages [WORD …]

A case whose own program does not run in this release is counted separately.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numbers_of_programs
import test_assists
from command_line import meshlens
from oracle.converted import installed
from single_device import test_mapped

_DOES_NOT_RUN = "the program does not run"
_VERSION = "jax-version"


def of_case(source: test_assists.Source, room: Path) -> str:
    """Returns the result of a case: "equal", "refused", "does not run" or where its numbers differ."""
    settings = tuple(one for one in source.case.settings if one[0] != _VERSION)
    here = (_VERSION, ".".join(map(str, installed())))
    source = replace(source, case=replace(source.case, settings=(*settings, here)))
    try:
        before, after = test_assists.programs(source, room)
    except test_assists.Unanswered:
        return "refused"
    return _shown(numbers_of_programs.differences(before, after))


def of_program(program: Path, target: str, room: Path) -> str:
    """Returns the result of mapping a program for one device, in the same words."""
    (room / "meshlens.toml").write_text(f'{_VERSION} = "{version("jax")}"\n')
    after = room / program.name
    after.write_bytes(program.read_bytes())
    for name in test_mapped.functions_of(program):
        if meshlens("convert", f"{after.name}::{name}", "--to", target, "--write", cwd=room).code != 0:
            return "refused"
    return _shown(numbers_of_programs.differences(program, after))


def _shown(found: list[str]) -> str:
    if not found:
        return "equal"
    return "does not run" if found[0].startswith(_DOES_NOT_RUN) else found[0]


def _every(words: list[str], room: Path) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(test_assists.CONVERTED):
        source, name = one.values[0], str(one.id)
        if dict(source.case.settings).get(test_assists.RAISES) is None and _is_meant(name, words):
            yield name, of_case(source, _made(room / f"case{number}"))
    for number, (program, target) in enumerate(test_mapped.TASKS):
        if _is_meant(program.stem, words):
            yield f"{program.stem} to {target}", of_program(program, target, _made(room / f"program{number}"))


def _is_meant(name: str, words: list[str]) -> bool:
    return not words or any(word in name for word in words)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main(words: list[str]) -> int:
    """Compares all of them, or those with one of these words in their names, and prints the result."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as room:
        for name, what in _every(words, Path(room)):
            kind = what if what in ("equal", "refused", "does not run") else "wrong"
            counts[kind] += 1
            if kind == "wrong":
                print(f"{name}: {what}")
    print(f"JAX {version('jax')}: {counts.total()} pages, cases and programs,", end=" ")
    print(", ".join(f"{counts[kind]} {kind}" for kind in ("equal", "refused", "does not run", "wrong")))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
