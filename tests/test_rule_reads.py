"""A rule that claims to read only what is tied to a place finds the same there if everything else is hidden."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import depth
import projects
from meshlens.axes.domain.values import Site
from meshlens.checking.kept_findings import sight_of
from meshlens.checking.model import Finding
from meshlens.checking.registry import Rule, all_rules
from meshlens.facts.content import Content
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Pass
from meshlens.facts.paths import SIMPLE
from meshlens.facts.walking import nodes
from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace
from meshlens.text import Span
from oracle.rerun import programs
from test_cases import ALL, Source

_TIED = [rule for rule in all_rules() if rule.reads in ("places", "tied") and rule.name != "unused-ignore"]
_PLACES = [rule for rule in _TIED if rule.reads == "places"]


def _places(rule: Rule, view: FileView) -> set[Finding]:
    return set(rule.run(view))


def _files(path: Path) -> list[Path]:
    return sorted(path.parent.rglob("*.py")) if (path.parent / "__init__.py").exists() else [path]


@pytest.mark.parametrize(
    "path", depth.some([one.main for one in programs()], 10), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_rules_find_the_same_in_parts_of_a_workspace(path: Path) -> None:
    files = _files(path)
    workspace = open_workspace([path.parent], files=files, devices=8)
    for one in files:
        view = workspace.view(one.absolute())
        whole = {rule.code: _places(rule, view) for rule in _TIED}
        results = view.solution.results
        keys = [(str(one.absolute()), key) for key in view.facts.blocks]
        parts = {view.solution.links.gathered([key], results): key for key in keys}
        apart: dict[str, set[Finding]] = {rule.code: set() for rule in _TIED}
        for key in parts.values():
            sight = sight_of(view, {key}).of(view)
            for rule in _TIED:
                apart[rule.code] |= _places(rule, sight)
        assert apart == whole


@pytest.mark.parametrize("source", depth.some(ALL, 40))
def test_rules_that_read_places_do_not_look_at_other_statements(source: Source, tmp_path: Path) -> None:
    project = projects.write(source.case, tmp_path)
    workspace = project.open()
    for name in project.sources:
        view = workspace.view(project.path(name))
        solution = view.solution
        places = set(_sites([result.records for result in solution.results.values()]))
        facts = {path: _bare(path, file, places) for path, file in solution.facts.items()}
        bare = replace(view, solution=replace(solution, facts=facts, _once={}), facts=facts[str(view.path)])
        for rule in _PLACES:
            assert _told(rule, bare) == _told(rule, view)


def _told(rule: Rule, view: FileView) -> list[tuple[Span, str]]:
    return sorted((finding.span, finding.message) for finding in rule.run(view))


def _sites(value: Any) -> Iterator[Site]:
    """Yields all sites that a value holds, at any depth."""
    waiting, seen = [value], {0}
    while waiting:
        one = waiting.pop()
        if isinstance(one, Site):
            yield one
        elif isinstance(one, (tuple, list, set, frozenset)):
            waiting += one
        elif isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif hasattr(one, "__slots__") and id(one) not in seen:
            seen.add(id(one))
            waiting += [getattr(one, name) for name in one.__slots__ if hasattr(one, name)]
        elif is_dataclass(one) and id(one) not in seen:
            seen.add(id(one))
            waiting += [getattr(one, field.name) for field in fields(one)]


def _bare(path: str, file: FileFacts, places: set[Site]) -> FileFacts:
    """Returns a file without the simple statements that contain none of the places."""

    def bare(node: Any, key: str) -> Any:
        if not isinstance(node, tuple):
            return node
        if isinstance(node, SIMPLE) and not any(
            Site(path, key, inner.site) in places for inner in nodes(node) if hasattr(inner, "site")
        ):
            return Pass("pass", node.site)
        return tuple.__new__(type(node), [bare(part, key) for part in node])

    blocks = {
        key: block._replace(content=Content(bare(block.shape, key), block.spans)) for key, block in file.blocks.items()
    }
    return replace(file, blocks=blocks)
