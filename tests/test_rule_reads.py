"""A rule that says it reads no more than what is tied to a place finds the same there when it sees nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace
from meshlens.rules._again import sight_of
from meshlens.rules._model import Finding
from meshlens.rules._registry import Rule, all_rules
from oracle.rerun import programs

_TIED = [rule for rule in all_rules() if rule.reads == "tied" and rule.name != "unused-ignore"]


def _places(rule: Rule, view: FileView) -> set[Finding]:
    return set(rule.run(view))


@pytest.mark.parametrize("path", [one.main for one in programs()], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_rules_find_the_same_in_parts_of_a_workspace(path: Path) -> None:
    files = sorted(path.parent.rglob("*.py")) if (path.parent / "__init__.py").exists() else [path]
    workspace = open_workspace([path.parent], files=files, devices=8)
    for one in files:
        view = workspace.view(one.absolute())
        whole = {rule.code: _places(rule, view) for rule in _TIED}
        results = view.solution.results
        parts = {view.solution.links.gathered([(str(one.absolute()), key)], results) for key in view.facts.blocks}
        apart: dict[str, set[Finding]] = {rule.code: set() for rule in _TIED}
        for part in parts:
            sight = sight_of(view, part)
            for rule in _TIED:
                apart[rule.code] |= _places(rule, sight)
        assert apart == whole
