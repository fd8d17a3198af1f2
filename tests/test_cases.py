"""Runs every case: `tests/cases/**/*.md` and the page of every rule; see `dsl.py` for the language."""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import depth
import dsl
import environments
import projects
from dsl import Case, File
from meshlens.checking.registry import all_rules

CASES = Path(__file__).parent / "cases"
TYPED_BY_CHARACTERS = 400
WIDTH = 120
"""The most characters of a line in a rule's module, as Ruff checks."""


@dataclass(frozen=True)
class Source:
    """Where a case is written.

    Attributes:
        path: the path of the Markdown file or of the rule's module.
        text: its Markdown.
        case: the case.
    """

    path: Path
    text: str
    case: Case


def _cases() -> Iterator[Any]:
    for path in sorted(set(CASES.rglob("*.md")) - set((CASES / "assists").iterdir())):
        yield from _parameters(path, path.read_text("utf-8"), path.relative_to(CASES).with_suffix("").as_posix())
    for rule in all_rules():
        module = sys.modules[rule.run.__module__]
        yield from _parameters(Path(inspect.getfile(module)), rule.page, f"pages/{rule.name}")


def _parameters(path: Path, text: str, name: str) -> Iterator[Any]:
    try:
        cases = dsl.parse(text, name)
    except ValueError as error:
        UNREADABLE.append(str(error))
        return
    for case in cases:
        yield pytest.param(Source(path, text, case), id=f"{name}: {case.name}")


UNREADABLE: list[str] = []
ALL = list(_cases())


def test_every_case_can_be_read() -> None:
    assert not UNREADABLE


@pytest.mark.parametrize("source", ALL)
def test_findings(source: Source, tmp_path: Path, update: bool) -> None:
    case = source.case
    project = projects.write(case, tmp_path)
    workspace = project.open()
    found = project.found(workspace)
    before = environments.marked(projects.marked(case.before, found), project, workspace)
    after = None if case.after is None else _after(project, found, case.after)
    if update:
        _rewrite(source, (*before, *(after or ())))
        return
    _compare(case.before, before)
    _compare(case.after or (), after or ())
    _assert_fixes(project, found)


def _assert_fixes(project: projects.Project, found: tuple[projects.Found, ...]) -> None:
    for item in found:
        for fix in item.finding.fixes:
            fixed = projects.with_fix(project, fix)
            for name, content in fixed.sources.items():
                if name.endswith(".py") and _parses(project.sources[name]):
                    assert _parses(content), f'"{fix.title}": {name} does not parse:\n{content.decode()}'
            left = projects.counted(fixed.found(fixed.open()))
            allowed = projects.counted(found)
            allowed[item.name, item.mark.code] -= 1
            assert left <= allowed, f'"{fix.title}": {dict(left - allowed)} is new or still there'


@pytest.mark.slow
@pytest.mark.parametrize("source", depth.some(ALL, 50))
def test_however_it_is_opened(source: Source, tmp_path: Path) -> None:
    project = projects.write(source.case, tmp_path)
    cold = project.found(project.open())
    for names in (sorted(project.sources), sorted(project.sources, reverse=True)):
        workspace = project.open([])
        for name in names:
            workspace = project.typed(workspace, name, project.sources[name])
        assert project.found(workspace) == cold
    workspace = project.open()
    for name, content in project.sources.items():
        for step, text in enumerate(_typing(content)):
            workspace = project.typed(workspace, name, text)
            if step % 8 == 0:
                assert workspace.view(project.path(name)).records is not None
    assert project.found(workspace) == cold


def _typing(content: bytes) -> Iterator[bytes]:
    """Yields a file as it grows while it is typed: a small file by characters, a larger one by half lines."""
    text = content.decode()
    if len(text) <= TYPED_BY_CHARACTERS:
        places = list(range(len(text) + 1))
    else:
        ends = [0, *(place + 1 for place, character in enumerate(text) if character == "\n"), len(text)]
        places = sorted({*ends, *((one + other) // 2 for one, other in itertools.pairwise(ends))})
    for place in places:
        yield text[:place].encode()


def _after(project: projects.Project, found: tuple[projects.Found, ...], after: tuple[File, ...]) -> tuple[File, ...]:
    fixed = projects.with_first_fixes(project, found)
    changed = {name for name, source in fixed.sources.items() if source != project.sources[name]}
    expected = {file.name for file in after if file.text.encode() != project.sources.get(file.name)}
    assert changed or not expected, f'nothing fixes {sorted(expected)}, so "becomes" cannot show them fixed'
    silent = changed - {file.name for file in after}
    assert not silent, f"the fixes change {sorted(silent)} as well"
    left = projects.marked(after, fixed.found(fixed.open()))
    return tuple(replace(file, text=fixed.sources[file.name].decode(), axes=()) for file in left)


def _compare(expected: tuple[File, ...], actual: tuple[File, ...]) -> None:
    for one, other in zip(expected, actual, strict=True):
        if _same(one, other):
            continue
        lines = difflib.unified_diff(dsl.render(one), dsl.render(other), "expected", "found", lineterm="", n=2)
        pytest.fail(f"{one.name}\n" + "\n".join(lines), pytrace=False)


def _same(one: File, other: File) -> bool:
    return (one.text, sorted(one.marks), one.axes) == (other.text, sorted(other.marks), other.axes)


def _rewrite(source: Source, files: tuple[File, ...]) -> None:
    """Writes new results into the fences of one case; other cases of the file may have been rewritten before."""
    now = source.path.read_text("utf-8")
    head, body, tail = "", now, ""
    is_page = source.path.suffix == ".py"
    if is_page:
        quotes = now.lstrip("r")[:3]
        head, body, tail = now.split(quotes, 2)
        head += quotes
        tail = quotes + tail
    [fresh] = [case for case in dsl.parse(body) if case.name == source.case.name]
    contents = [
        (place.lines, _in_docstring(file, head) if is_page else dsl.render(file))
        for file, written, place in zip(files, _files(source.case), _files(fresh), strict=True)
        if not _same(file, written)
    ]
    text = head + dsl.replaced(body, contents) + tail
    if text != now:
        source.path.write_text(text, "utf-8")


def _files(case: Case) -> tuple[File, ...]:
    return (*case.before, *(case.after or ()))


def _in_docstring(file: File, head: str) -> list[str]:
    """Returns the lines of a fence as a module's docstring spells them, whose beginning says whether it is raw."""
    if head.startswith("r"):
        return dsl.render(file, WIDTH)
    return [line.replace("\\", "\\\\") for line in dsl.render(file, WIDTH - 1)]


def _parses(content: bytes) -> bool:
    try:
        ast.parse(content)
    except SyntaxError:
        return False
    return True
