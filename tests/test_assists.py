"""Runs the cases of the assists: `tests/cases/assists/NAME.md` and the page of every assist; see `dsl.py`.

Where JAX is installed, the program of a case runs before and after, on eight virtual devices, and every array and
number that its modules hold in the end must be the same.
A case whose program does not run before has a `single.py`, which computes on one device what must come out.
A case with `raises: NameError` is a program that fails with that error before, on at least some releases of JAX, and
runs after; its `assert` statements say what it must end with.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import depth
import dsl
import numbers_of_programs
import projects
from dsl import Case, File
from meshlens.project.workspace import open_workspace
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.refactoring.reading.functions import function_at
from meshlens.refactoring.registry import Assist, all_assists, assist_named
from meshlens.settings import parse_device_sizes
from meshlens.text import Edit, FileEdit, Span

CASES = Path(__file__).parent / "cases" / "assists"
WISHES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "axis-name": ("axis_name", str),
    "in-axes": ("in_axes", str),
    "batch": ("batch", lambda text: tuple((name, 0) for name in text.split())),
    "on-devices": ("devices", parse_device_sizes),
}
RAISES = "raises"


@dataclass(frozen=True)
class Source:
    """Where a case is written, and the assist that it tests."""

    path: Path
    assist: Assist
    case: Case


class Unanswered(Exception):
    """An assist is refused, or is not offered."""


def _cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.md")):
        assist = assist_named(path.stem.split("--")[0])
        yield from _parameters(path, assist, path.read_text("utf-8"), path.stem)
    for assist in all_assists():
        path = Path(inspect.getfile(sys.modules[assist.propose.__module__]))
        yield from _parameters(path, assist, assist.page, f"pages/{assist.name}")


def _parameters(path: Path, assist: Assist, text: str, name: str) -> Iterator[Any]:
    for case in dsl.parse(text, name):
        yield pytest.param(Source(path, assist, case), id=f"{name}: {case.name}")


ALL = list(_cases())
CONVERTED = [one for one in ALL if one.values[0].case.after is not None]


@pytest.mark.parametrize("source", ALL)
def test_answers(source: Source, tmp_path: Path, update: bool) -> None:
    case = source.case
    assert any(file.cursors for file in case.before), 'a case of an assist needs a "$0"'
    project, wishes = _project(case, tmp_path)
    answers = list(_answers(source, project, wishes))
    refusals = [f"{one.code}: {one.message}" for one in answers if isinstance(one, Refused)]
    expected = [output for output in case.outputs if output.feature == dsl.REFUSED]
    if case.stays:
        assert answers == [None] * len(answers)
    elif expected:
        assert len(refusals) == len(answers), answers
        if update:
            _write(source, [(expected[0].lines, "\n---\n".join(refusals).split("\n"))])
        else:
            assert expected[0].text == "\n---\n".join(refusals)
    else:
        assert case.after is not None, 'neither "becomes" nor "stays" nor a refusal'
        for answer in answers:
            assert isinstance(answer, Proposal), answer
            _compare(source, project, _after(project, answer), update)


@pytest.mark.slow
@pytest.mark.parametrize("source", CONVERTED)
def test_no_new_finding(source: Source, tmp_path: Path) -> None:
    project, wishes = _project(source.case, tmp_path)
    before = projects.counted(project.found(project.open()))
    for answer in _answers(source, project, wishes):
        assert isinstance(answer, Proposal), answer
        after = _after(project, answer)
        for name, content in after.sources.items():
            ast.parse(content, name)
        assert projects.counted(after.found(after.open())) <= before


@pytest.mark.jax
@pytest.mark.parametrize("source", depth.some(CONVERTED, 16))
def test_same_numbers(source: Source, tmp_path: Path) -> None:
    before, after = programs(source, tmp_path)
    found = numbers_of_programs.differences(before, after)
    error = dict(source.case.settings).get(RAISES)
    if error is not None and found:
        assert found[0].startswith("the program does not run") and f"{error}: " in found[0]
        found = numbers_of_programs.differences(after, after)
    assert found == []


def programs(source: Source, room: Path) -> tuple[Path, Path]:
    """Writes the program of a case before and after its first answer, and returns the paths of both.

    Raises:
        Unanswered: the assist is refused or not offered.
    """
    project, wishes = _project(source.case, room / "before")
    answer = next(_answers(source, project, wishes))
    if not isinstance(answer, Proposal):
        raise Unanswered(answer)
    after = _after(project, answer)
    for name, content in after.sources.items():
        path = room / "after" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    names = list(project.sources)
    main = "main.py" if "main.py" in names else names[-1]
    return room / "before" / ("single.py" if "single.py" in names else main), room / "after" / main


def _project(case: Case, root: Path) -> tuple[projects.Project, Wishes]:
    root.mkdir(exist_ok=True)
    given = {WISHES[key][0]: WISHES[key][1](value) for key, value in case.settings if key in WISHES}
    settings = tuple((key, value) for key, value in case.settings if key not in {*WISHES, RAISES})
    return projects.write(replace(case, settings=settings), root), Wishes(**given)


def _answers(source: Source, project: projects.Project, wishes: Wishes) -> Iterator[Answer]:
    workspace = project.open()
    for file in source.case.before:
        for cursor in file.cursors:
            offset = len(file.text[:cursor].encode())
            yield source.assist.propose(workspace.view(project.path(file.name)), Span(offset, offset), wishes)


def _after(project: projects.Project, answer: Proposal) -> projects.Project:
    edits: tuple[FileEdit, ...] = answer.edits()
    return projects.with_file_edits(project, edits)


def _compare(source: Source, before: projects.Project, after: projects.Project, update: bool) -> None:
    assert source.case.after is not None
    changed = {name for name, text in after.sources.items() if text != before.sources[name]}
    assert changed <= {file.name for file in source.case.after}, changed
    found = tuple(replace(file, text=after.sources[file.name].decode()) for file in source.case.after)
    if update:
        _write(source, [(file.lines, dsl.render(file)) for file in found])
        return
    for one, other in zip(source.case.after, found, strict=True):
        if one.text != other.text:
            lines = difflib.unified_diff(dsl.render(one), dsl.render(other), "expected", "found", lineterm="", n=2)
            pytest.fail(f"{one.name}\n" + "\n".join(lines), pytrace=False)


def _write(source: Source, contents: list[tuple[tuple[int, int], list[str]]]) -> None:
    """Writes the results into the fences of a case; other cases of the file may have been rewritten before."""
    now = source.path.read_text("utf-8")
    body = now.split('"""', 2)[1] if source.path.suffix == ".py" else now
    [fresh] = [case for case in dsl.parse(body) if case.name == source.case.name]
    olds, news = (
        [*(file.lines for file in case.after or ()), *(output.lines for output in case.outputs)]
        for case in (source.case, fresh)
    )
    moved = dict(zip(olds, news, strict=True))
    places = [(moved[lines], text) for lines, text in contents]
    if source.path.suffix == ".py":
        places = [(lines, [line.replace('"""', '\\"\\"\\"') for line in text]) for lines, text in places]
    text: list[File] | str = dsl.replaced(body, places)
    source.path.write_text(now.replace(body, str(text), 1), "utf-8")


def test_what_a_cursor_is_on_is_found_where_it_is_after_lines_were_put_above(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    source = b"import jax\n\n\ndef one(x):\n    return x\n\n\ndef two(x):\n    return x\n"
    at = Span(source.index(b"two"), source.index(b"two") + 1)
    workspace = open_workspace([tmp_path], files=[path], overlay={path: source})
    found = function_at(workspace.view(path), at)
    assert found is not None
    assert found.name == "two"
    moved = workspace.with_edits(path, [Edit(Span(0, 0), "\n\n")])
    assert function_at(moved.view(path), at) is None
