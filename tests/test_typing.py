"""While a statement is typed, only that statement runs again, and the findings are those of a cold start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import depth
from meshlens.axes.runs.records import Records
from meshlens.checking import check as _check
from meshlens.checking.check import check
from meshlens.project.solving import resolving, watching
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.text import Edit, Span

PATH = Path("/typed/model.py")
MODEL = '''
import jax
from jax import lax
from jax.sharding import PartitionSpec as P


class Model:
    def __init__(self, axis="data"):
        self.axis = axis

    def scale(self, x):
        """Each call of `step` comes by here."""
        HERE
        return lax.psum(x, self.axis)

    def step(self, x):
        for part in (x, x):
            x = self.scale(part)
        return lax.pmean(x, "batch")


def run(model: Model, x):
    step = jax.pmap(model.step, axis_name="data")
    if x is None:
        INSIDE
        return step(0)
    return step(x)


def build(x):
    model = Model("data")
    return jax.pmap(model.step, axis_name="data")(x)
'''
TYPED = {
    "a use of an axis": 'y_p = lax.psum(x, "dta")',
    "a name that is read": "x = x + 1",
    "a call of a method": "x = self.scale(x)",
    "an attribute": "self.axis = None",
    "a function": "f = lambda: lax.psum(1, 'i')",
    "an old name": "tree = jax.tree_map(abs, x)",
    "a map": "g = jax.vmap(abs, axis_name='data')",
    "a mesh": "mesh = jax.make_mesh((2, 4), ('data', 'data'))",
    "a parameter": "part = x",
}


@pytest.fixture
def reruns(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Returns a list that collects the roots that run again as a whole."""
    ran: list[object] = []
    rerun = resolving._rerun

    def noted(solution, world, key):
        ran.append(key)
        return rerun(solution, world, key)

    monkeypatch.setattr(resolving, "_rerun", noted)
    return ran


def _opened(text: str) -> Workspace:
    return open_workspace([PATH.parent], files=[PATH], devices=8, overlay={PATH: text.encode()})


def _strokes(workspace: Workspace, text: str, mark: str, typed: str) -> Iterator[tuple[Workspace, str]]:
    at = text.index(mark)
    workspace = workspace.with_edits(PATH, [Edit(Span(at, at + len(mark)), "")])
    text = text[:at] + text[at + len(mark) :]
    for character in typed:
        check(workspace.view(PATH), Settings())
        workspace = workspace.with_edits(PATH, [Edit(Span(at, at), character)])
        text, at = text[:at] + character + text[at:], at + 1
        yield workspace, text


def _counts(workspace: Workspace) -> dict[str, int]:
    records = workspace.solution.by_file[str(PATH)]
    return {one.name: len(getattr(records, one.name)) for one in fields(Records)}


@pytest.mark.slow
@pytest.mark.parametrize("mark", depth.some(["HERE", "INSIDE"], 1))
@pytest.mark.parametrize("kind", sorted(TYPED))
def test_each_stroke_gives_what_a_cold_start_gives(mark, kind):
    other = MODEL.replace("INSIDE" if mark == "HERE" else "HERE", "pass")
    for workspace, text in _strokes(_opened(other), other, mark, TYPED[kind]):
        cold = _opened(text)
        assert check(workspace.view(PATH), Settings()) == check(cold.view(PATH), Settings()), text
        assert _counts(workspace) == _counts(cold), text


def test_a_statement_alone_runs_again(reruns):
    text = MODEL.replace("INSIDE", "pass")
    strokes = list(_strokes(_opened(text), text, "HERE", "y = lax.psum(x, 'dta')"))
    workspace, text = strokes[-1]
    assert workspace.solution.watch is not None and reruns
    del reruns[:]
    at = text.index("'dta'") + 2
    for character in "abc":
        workspace = workspace.with_edits(PATH, [Edit(Span(at, at), character)])
        text = text[:at] + character + text[at:]
        found = check(workspace.view(PATH), Settings())
        assert found == check(_opened(text).view(PATH), Settings())
        assert any(character in one.finding.message for one in found if one.code == "AX101")
    assert not reruns


@pytest.mark.parametrize(("mark", "block"), [("HERE", "Model.scale"), ("INSIDE", "run")])
def test_a_statement_that_cannot_be_read_yet_leaves_all_as_it_was(reruns, mark, block):
    other = MODEL.replace("INSIDE" if mark == "HERE" else "HERE", "pass")
    shapes = []
    for workspace, text in _strokes(_opened(other), other, mark, 'y = foo(1, [2, "d'):
        assert check(workspace.view(PATH), Settings()) == check(_opened(text).view(PATH), Settings()), text
        if "foo(1" in text:
            shapes.append(workspace.files[str(PATH)].facts.blocks[block].shape)
        if "foo(1," not in text:
            del reruns[:]
    assert len(shapes) > 5 and all(shape is shapes[0] for shape in shapes)
    assert not reruns


def test_what_flows_on_runs_everything_again(reruns):
    text = MODEL.replace("INSIDE", "pass").replace("HERE", "x = lax.psum(x, 'a')")
    workspace = _opened(text)
    check(workspace.view(PATH), Settings())
    at = text.index("'a'") + 2
    for character in "bc":
        del reruns[:]
        workspace = workspace.with_edits(PATH, [Edit(Span(at, at), character)])
        check(workspace.view(PATH), Settings())
        assert reruns


@pytest.mark.slow
@pytest.mark.parametrize("mark", depth.some(["HERE", "INSIDE"], 1))
@pytest.mark.parametrize("kind", sorted(TYPED))
def test_what_is_taken_back_leaves_what_a_cold_start_finds(mark, kind):
    other = MODEL.replace("INSIDE" if mark == "HERE" else "HERE", "pass")
    typed = TYPED[kind]
    workspace, text = list(_strokes(_opened(other), other, mark, typed))[-1]
    at = text.index(typed)
    for taken in (1, 2, 4, 3):
        end = at + len(typed)
        for shorter in range(1, taken + 1):
            workspace = workspace.with_edits(PATH, [Edit(Span(end - shorter, end - shorter + 1), "")])
            _is_cold(workspace, text[: end - shorter] + text[end:])
        for shorter in range(taken, 0, -1):
            workspace = workspace.with_edits(PATH, [Edit(Span(end - shorter, end - shorter), text[end - shorter])])
            _is_cold(workspace, text[: end - shorter + 1] + text[end:])


def _is_cold(workspace: Workspace, text: str) -> None:
    assert check(workspace.view(PATH), Settings()) == check(_opened(text).view(PATH), Settings()), text


def test_what_is_taken_back_is_not_worked_out_again(reruns, monkeypatch):
    text = MODEL.replace("INSIDE", "pass")
    workspace, text = list(_strokes(_opened(text), text, "HERE", "y = lax.psum(x, 'dta')"))[-1]
    at = text.index("'dta')") + len("'dta')")
    check(workspace.view(PATH), Settings())
    del reruns[:]
    checks = _calls(monkeypatch, _check, "found_again")
    runs = _calls(monkeypatch, watching, "run_alone")
    cold = {new: check(_opened(text[:at] + new + text[at:]).view(PATH), Settings()) for new in ("(", "")}
    for new in ("(", "", "(", ""):
        edit = Edit(Span(at, at), new) if new else Edit(Span(at, at + 1), "")
        workspace = workspace.with_edits(PATH, [edit])
        assert check(workspace.view(PATH), Settings()) == cold[new]
    # Even after the first bracket the statement is what it was while unfinished: a hole with the same names.
    assert len(checks) == 1 and not runs and not reruns


def _calls(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[tuple[object, ...]]:
    """Returns a list that collects the arguments of each call of a function."""
    seen: list[tuple[object, ...]] = []
    function = getattr(module, name)

    def noted(*args: object) -> object:
        seen.append(args)
        return function(*args)

    monkeypatch.setattr(module, name, noted)
    return seen
