"""Runs every case that gives an editor feature's answers at its cursors; see `dsl.py` for the language."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

import depth
import dsl
import projects
from dsl import Case
from features import FEATURES
from meshlens.project.workspace import Workspace

CASES = Path(__file__).parent / "cases"


def _cases() -> list[Any]:
    found = []
    for path in sorted(set(CASES.rglob("*.md")) - set((CASES / "assists").iterdir())):
        name = path.relative_to(CASES).with_suffix("").as_posix()
        for case in dsl.parse(path.read_text("utf-8"), name):
            if case.outputs:
                found.append(pytest.param(path, case, id=f"{name}: {case.name}"))
    return found


@pytest.mark.parametrize(("path", "case"), _cases())
def test_features(path: Path, case: Case, tmp_path: Path, update: bool) -> None:
    project = projects.write(case, tmp_path)
    workspace = project.open()
    said = [_said(output.feature, case, project, workspace) for output in case.outputs]
    if update:
        _rewrite(path, case, said)
        return
    for output, text in zip(case.outputs, said, strict=True):
        if text != output.text:
            lines = difflib.unified_diff(output.text.split("\n"), text.split("\n"), "expected", "said", lineterm="")
            pytest.fail(f"{output.feature}\n" + "\n".join(lines), pytrace=False)
    opened = project.open([])
    for name in sorted(project.sources, reverse=True):
        opened = project.typed(opened, name, project.sources[name])
    assert [_said(output.feature, case, project, opened) for output in case.outputs] == said


@pytest.mark.parametrize(("path", "case"), depth.some([*_cases()], 10))
def test_features_in_broken_text(path: Path, case: Case, tmp_path: Path) -> None:
    """Checks that no feature raises an exception, whatever is cut off after or before the cursor."""
    project = projects.write(case, tmp_path)
    workspace = project.open()
    for file in case.before:
        for cursor in file.cursors if file.name.endswith(".py") else ():
            head, tail = file.text[:cursor].encode(), file.text[cursor:].encode()
            for source, offset in ((head, len(head)), (tail, 0), (head + b"(" + tail, len(head))):
                broken = project.typed(workspace, file.name, source).view(project.path(file.name))
                for say in FEATURES.values():
                    say(broken, offset)


def _said(feature: str, case: Case, project: projects.Project, workspace: Workspace) -> str:
    answers = []
    for file in case.before:
        view = workspace.view(project.path(file.name)) if file.cursors else None
        for cursor in file.cursors:
            assert view is not None
            at = projects.analysed_offset(file.name, file.text.encode(), len(file.text[:cursor].encode()))
            answers.append(FEATURES[feature](view, at) or "nothing")
    return "\n---\n".join(answers)


def _rewrite(path: Path, case: Case, said: list[str]) -> None:
    """Writes the answers into the fences of one case; other cases of the file may have been rewritten before."""
    now = path.read_text("utf-8")
    [fresh] = [other for other in dsl.parse(now) if other.name == case.name]
    contents = [(output.lines, text.split("\n")) for output, text in zip(fresh.outputs, said, strict=True)]
    path.write_text(dsl.replaced(now, contents), "utf-8")
