"""A test that is not in the quick sessions is in the deep ones, which together run every test; see `noxfile.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest

import depth

ROOT = Path(__file__).parents[1]
MARKS = ("deep", "editors", "jax", "slow")
Collected = tuple[str, frozenset[str]]
Selected = Mapping[str, tuple[str, str]]


def selected() -> Selected:
    """Returns the sessions of the noxfile that run tests: a marker expression, and where to look for tests."""
    for node in ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SELECTED":
            return dict(ast.literal_eval(node.value))
    raise AssertionError("the noxfile selects nothing")


def tagged_deep() -> set[str]:
    """Returns the sessions that `nox -t deep` runs."""
    functions = ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body
    return {
        one.name
        for one in functions
        if isinstance(one, ast.FunctionDef) and any("tags=['deep']" in ast.unparse(mark) for mark in one.decorator_list)
    }


def runs(marks: str, pattern: str, test: Collected) -> bool:
    """Returns true if a session runs a test."""
    name, own = test
    file = name.partition("::")[0]
    words = {mark: mark in own for mark in MARKS}
    return (fnmatch(file, pattern) or file.startswith(f"{pattern}/")) and bool(eval(marks, {}, words))


def left_out(sessions: Selected, tests: Sequence[Collected]) -> list[str]:
    """Returns the tests that no session runs."""
    return [one[0] for one in tests if not any(runs(*each, one) for each in sessions.values())]


def test_the_deep_sessions_run_every_test(collected: list[Collected]):
    deep = {name: one for name, one in selected().items() if name in tagged_deep()}
    assert left_out(deep, collected) == []


def test_every_change_runs_what_is_not_deep(collected: list[Collected]):
    quick = {name: one for name, one in selected().items() if name not in tagged_deep()}
    elsewhere = tuple(f"tests/e2e/{one}" for one in ("test_", "compiled", "jupyter", "publishing", "tracing"))
    missed = set(left_out(quick, [one for one in collected if "deep" not in one[1]]))
    assert {name for name in missed if not name.startswith(elsewhere)} == set()


def test_pytest_alone_runs_what_the_sessions_of_every_change_run_unless_it_is_slow():
    assert selected()["tests_oldest"] == (depth.QUICK, "tests")
    assert {*depth.QUICK.split(" and ")} - {"not slow"} == {*selected()["tests"][0].split(" and ")}
    assert selected()["tests_deep"][0] == depth.DEEP


@pytest.mark.parametrize(
    "test",
    [
        ("tests/test_a.py::test", {"deep"}),
        ("tests/test_a.py::test", {"jax"}),
        ("tests/e2e/new/test_a.py::test", {"editors"}),
    ],
)
def test_a_test_that_no_session_runs_is_noticed(test: tuple[str, set[str]]):
    quick = {name: one for name, one in selected().items() if name in ("tests", "vscode")}
    assert left_out(quick, [(test[0], frozenset(test[1]))]) == [test[0]]


@pytest.mark.parametrize(("workflow", "is_deep"), [("ci", False), ("deep", True)])
def test_a_workflow_runs_each_session_in_a_container_with_its_python(workflow: str, is_deep: bool):
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8")
    (newest,) = re.findall(r'^        python: \["([\d.]+)"\]$', text, re.MULTILINE)
    (listed,) = re.findall(r"^        session: \[(.+)\]$", text, re.MULTILINE)
    included = re.findall(r'- python: "([\d.]+)"\n +session: (\S+)', text)
    pairs = [*((newest, name) for name in listed.split(", ")), *included]
    assert {name.partition("-")[0] for _, name in pairs} == (tagged_deep() if is_deep else _by_default())
    assert [name for python, name in pairs if "-" in name and not name.endswith(f"-{python}")] == []
    versions = {python for python, name in pairs if name.startswith("tests")}
    assert versions == ({"3.10", "3.11", "3.12", newest} if is_deep else {"3.10", newest})


def _by_default() -> set[str]:
    functions = [
        one for one in ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body if isinstance(one, ast.FunctionDef)
    ]
    marks = {one.name: " ".join(map(ast.unparse, one.decorator_list)) for one in functions}
    return {name for name, mark in marks.items() if "nox.session" in mark and "default=False" not in mark}


def test_a_sample_leaves_nothing_out():
    values = depth.some([*range(10)], 3)
    assert [one.values[0] for one in values] == [*range(10)]
    assert [one.values[0] for one in values if not one.marks] == [0, 3, 6]
    assert [one.values for one in depth.some([(1, 2), (3, 4)], 5)] == [(1, 2), (3, 4)]
