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

import pytest

import dsl
import environments
import projects
from dsl import Case, File
from meshlens.rules._registry import all_rules

CASES = Path(__file__).parent / "cases"
TYPED_WHOLE = 400


@dataclass(frozen=True)
class Source:
    """Where a case is written.

    Attributes:
        path: the Markdown file, or the rule's module.
        text: its Markdown.
        case: the case.
    """

    path: Path
    text: str
    case: Case


def _cases() -> Iterator[pytest.param]:
    for path in dsl.case_files(CASES):
        yield from _parameters(path, path.read_text("utf-8"), path.relative_to(CASES).with_suffix("").as_posix())
    for rule in all_rules():
        module = sys.modules[rule.run.__module__]
        yield from _parameters(Path(inspect.getfile(module)), rule.page, f"pages/{rule.name}")


def _parameters(path: Path, text: str, name: str) -> Iterator[pytest.param]:
    for case in dsl.parse(text, name):
        yield pytest.param(Source(path, text, case), id=f"{name}: {case.name}")


ALL = list(_cases())


@pytest.mark.parametrize("source", ALL)
def test_findings(source: Source, tmp_path: Path, update: bool) -> None:
    project = projects.write(source.case, tmp_path)
    workspace = project.open()
    found = project.found(workspace)
    actual = projects.marked(source.case.before, found)
    actual = environments.marked(actual, project, workspace)
    after = source.case.after
    if after is not None:
        after = _after(project, found, after)
    if update:
        _rewrite(source, (*actual, *(after or ())))
        return
    _compare(source.case.before, actual)
    if source.case.after is not None and after is not None:
        _compare(source.case.after, after)


@pytest.mark.parametrize("source", ALL)
def test_every_fix(source: Source, tmp_path: Path) -> None:
    project = projects.write(source.case, tmp_path)
    found = project.found(project.open())
    for item in found:
        for fix in item.finding.fixes:
            fixed = projects.with_edits(project, projects.edits_by_file(project, [fix]))
            for name, content in fixed.sources.items():
                if name.endswith(".py") and _parses(project.sources[name]):
                    assert _parses(content), f"{fix.title}: {name} does not parse:\n{content.decode()}"
            left = projects.counted(fixed.found(projects.opened(fixed)))
            expected = projects.counted(found)
            expected[item.name, item.mark.code] -= 1
            assert left <= expected, f"{fix.title}: {dict(left - expected)} is new or still there"


@pytest.mark.parametrize("source", ALL)
def test_however_it_is_opened(source: Source, tmp_path: Path) -> None:
    project = projects.write(source.case, tmp_path)
    cold = project.found(project.open())
    for names in (sorted(project.sources), sorted(project.sources, reverse=True)):
        workspace = project.open_empty()
        for name in names:
            workspace = workspace.with_file(project.path(name), project.sources[name])
        assert project.found(workspace) == cold
    workspace = project.open()
    for name, content in project.sources.items():
        for step, typed in enumerate(_typing(content)):
            workspace = workspace.with_file(project.path(name), typed)
            if step % 16 == 0:
                project.found(workspace)
    assert project.found(workspace) == cold


def _typing(content: bytes) -> Iterator[bytes]:
    """A file as it grows while it is typed: a small one by characters, a larger one by half lines."""
    text = content.decode()
    if len(text) <= TYPED_WHOLE:
        places = list(range(len(text) + 1))
    else:
        ends = [0, *(place + 1 for place, character in enumerate(text) if character == "\n"), len(text)]
        places = sorted({*ends, *((one + other) // 2 for one, other in itertools.pairwise(ends))})
    for place in places:
        yield text[:place].encode()


def _after(project: projects.Project, found: tuple[projects.Found, ...], after: tuple[File, ...]) -> tuple[File, ...]:
    edits = projects.edits_by_file(project, projects.first_fixes(found))
    fixed = projects.with_edits(project, edits)
    left = projects.marked(after, fixed.found(projects.opened(fixed)))
    missing = set(edits) - {file.name for file in after}
    assert not missing, f"the fixes change {sorted(missing)} as well"
    return tuple(replace(file, text=fixed.sources[file.name].decode()) for file in left)


def _compare(expected: tuple[File, ...], actual: tuple[File, ...]) -> None:
    for one, other in zip(expected, actual, strict=True):
        if (one.text, sorted(one.marks), one.axes) == (other.text, sorted(other.marks), other.axes):
            continue
        lines = difflib.unified_diff(dsl.render(one), dsl.render(other), "expected", "found", lineterm="", n=2)
        pytest.fail(f"{one.name}\n" + "\n".join(lines), pytrace=False)


def _rewrite(source: Source, files: tuple[File, ...]) -> None:
    now = source.path.read_text("utf-8")
    # Another case of the same file may have been rewritten before this one: its lines are found anew.
    start = now.index(source.text.split("\n")[0]) if source.path.suffix == ".py" else 0
    head, body = now[:start], now[start:]
    if source.path.suffix == ".py":
        body, tail = body.split('"""', 1)
        tail = f'"""{tail}'
    else:
        tail = ""
    [fresh] = [case for case in dsl.parse(body) if case.name == source.case.name]
    places = {
        (file.name, index): file.lines
        for index, group in enumerate((fresh.before, fresh.after or ()))
        for file in group
    }
    count = len(fresh.before)
    moved = [replace(file, lines=places[file.name, int(number >= count)]) for number, file in enumerate(files)]
    source.path.write_text(head + dsl.rewrite(body, moved) + tail, "utf-8")


def _parses(content: bytes) -> bool:
    try:
        ast.parse(content)
    except SyntaxError:
        return False
    return True
