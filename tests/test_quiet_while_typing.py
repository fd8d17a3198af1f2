"""Correct programs stay free of findings while one of their lines is being typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import depth
from meshlens.checking.check import Diagnosed, check
from meshlens.checking.model import Severity
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings

PROGRAMS = sorted((Path(__file__).parent / "oracle" / "programs").glob("*.py"))
PATH = Path("/typed/program.py")


def _found(text: str) -> tuple[list[Diagnosed], bool]:
    workspace = open_workspace([PATH.parent], files=[PATH], devices=8, overlay={PATH: text.encode()})
    found = check(workspace.view(PATH), Settings())
    is_broken = bool(workspace.files[str(PATH)].facts.broken)
    return [one for one in found if one.severity != Severity.HINT], is_broken


def _cut(lines: list[str], number: int) -> str:
    line = lines[number]
    indent = len(line) - len(line.lstrip())
    # Each line is cut at a different place, which is the same in every run.
    size = indent + 1 + (number * 7) % max(len(line) - indent, 1)
    return "\n".join([*lines[:number], line[:size], *lines[number + 1 :]])


@pytest.mark.parametrize("program", depth.some(PROGRAMS, 8), ids=lambda program: program.stem)
def test_a_line_that_cannot_be_read_yet_makes_nothing_wrong(program):
    text = program.read_text("utf-8")
    if _found(text)[0]:
        return
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        typed = _cut(lines, number)
        found, is_broken = _found(typed)
        assert not (is_broken and found), f"{typed}\n{[one.finding.message for one in found]}"
