"""The oracle programs: correct ones have no findings, faults are found, and JAX still agrees with the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from meshlens.checking.check import check
from meshlens.checking.model import Severity
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings
from oracle.rerun import Program, contradictions, observe, programs, repaired

PROGRAMS = {program.name: program for program in programs()}
FAULTY = {name: program for name, program in PROGRAMS.items() if program.label["kind"] != "ok"}
LOUD = {Severity.ERROR, Severity.WARNING}


@dataclass(frozen=True)
class Found:
    """A finding: its file and its range, lines and columns from 0."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    severity: Severity
    text: str


def found(program: Program) -> Iterator[Found]:
    """Yields all findings in a program that is meant for eight devices and JAX 0.10.2."""
    workspace = open_workspace([program.main.parent], files=program.files, jax_version=(0, 10, 2), devices=8)
    for path in program.files:
        view = workspace.view(path)
        for item in check(view, Settings()):
            span = item.finding.span
            start, end = view.lines.position(span.start), view.lines.position(span.end)
            text = f"{path.name}:{start[0] + 1} {item.code} {item.finding.message}"
            yield Found(path.name, start, end, item.severity, text)


def accused(program: Program) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Yields the places that a finding may underline: file, start and end."""
    label = program.label
    places: list[dict[str, Any]] = [
        {"line": label["bad_line"], "text": label["bad_text"], "col": label.get("bad_col")},
        *label.get("also_acceptable", []),
    ]
    for place in places:
        file = place.get("file") or label.get("bad_file") or program.main.name
        line = place["line"] - 1
        source = (program.main.parent / file).read_text("utf-8").split("\n")[line]
        lines = place["text"].split("\n")
        column = place.get("col")
        start = source.index(lines[0]) if column is None else column
        end = (line + len(lines) - 1, len(lines[-1]) + (start if len(lines) == 1 else 0))
        yield file, (line, start), end


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - set(FAULTY)))
def test_a_right_program_is_not_reported(name: str) -> None:
    loud = [item.text for item in found(PROGRAMS[name]) if item.severity in LOUD]
    assert not loud


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_a_fault_is_found(name: str) -> None:
    program = FAULTY[name]
    any_level = program.label["kind"] == "silent-bug"
    everything = list(found(program))
    hits = [
        item
        for item in everything
        for file, start, end in accused(program)
        if (any_level or item.severity in LOUD) and item.file == file and item.start <= end and start <= item.end
    ]
    assert hits, (program.label["note"], [item.text for item in everything])


@pytest.fixture(scope="session")
def seen() -> dict[str, dict[str, Any]]:
    chosen = list(PROGRAMS.values())
    return dict(zip(PROGRAMS, observe([(p.main, p.label.get("witness")) for p in chosen]), strict=True))


@pytest.fixture(scope="session")
def seen_repaired(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    room = tmp_path_factory.mktemp("repaired")
    todo = [(repaired(program, room), program.label.get("witness")) for program in FAULTY.values()]
    return dict(zip(FAULTY, observe(todo), strict=True))


@pytest.mark.jax
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_jax_agrees_with_the_label(name: str, seen: dict[str, dict[str, Any]]) -> None:
    assert not list(contradictions(PROGRAMS[name], seen[name]))


@pytest.mark.jax
@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(FAULTY))
def test_the_fault_is_the_only_one(name: str, seen_repaired: dict[str, dict[str, Any]]) -> None:
    after = seen_repaired[name]
    assert after["runs"], after["message"]
    assert not after["warnings"]
    assert after.get("witness") is not True


def test_the_programs_are_there() -> None:
    assert len(PROGRAMS) > 100
    assert 0 < len(FAULTY) < len(PROGRAMS)
    assert Path(PROGRAMS["005_unsplit_prng_key"].main).exists()
