"""While somebody types in a function that a script or a program calls, only the statement runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlens.axes.runs import roots
from meshlens.checking.check import check
from meshlens.project import workspace
from meshlens.project.solving import resolving
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.text import Edit, Span

PATH = Path("/typed/script.py")
FUNCTIONS = """
import jax
import jax.numpy as jnp

NAME = "data"


def step(x):
    x = x * 2
    HERE
    return jax.lax.psum(x, NAME)


def train(x):
    jax.pmap(step, axis_name="data")(x)


"""
CALLERS = {
    "a script": 'train(1)\nNAME = "other"\njax.pmap(step, axis_name="other")(2)\nNAME = "last"\n',
    "a program": 'if __name__ == "__main__":\n    train(1)\n    NAME = "b"\n    jax.pmap(step, axis_name="b")(2)\n',
}
TYPED = ("y = jax.lax.pmean(x, NAME)", 'y = jax.lax.psum(x, "dta")', "x = jax.lax.psum(x, NAME) + names[0]")


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that collects what is solved again: "all", or a root as a whole."""
    done: list[str] = []
    solve, rerun = workspace.solve, resolving._rerun

    def solved_all(*given):
        done.append("all")
        return solve(*given)

    def reran(solution, world, key):
        done.append(key[1])
        return rerun(solution, world, key)

    monkeypatch.setattr(workspace, "solve", solved_all)
    monkeypatch.setattr(resolving, "_rerun", reran)
    return done


def _opened(text: str) -> Workspace:
    return open_workspace([PATH.parent], files=[PATH], devices=8, overlay={PATH: text.encode()})


@pytest.mark.parametrize("caller", sorted(CALLERS))
@pytest.mark.parametrize("typed", TYPED)
def test_each_stroke_gives_what_a_cold_start_gives(caller, typed):
    text = FUNCTIONS.replace("    HERE\n", "    \n") + CALLERS[caller]
    at = text.index("    \n") + 4
    typing = _opened(text)
    for character in typed:
        check(typing.view(PATH), Settings())
        typing = typing.with_edits(PATH, [Edit(Span(at, at), character)])
        text, at = text[:at] + character + text[at:], at + 1
        assert check(typing.view(PATH), Settings()) == check(_opened(text).view(PATH), Settings()), text


@pytest.mark.parametrize("caller", sorted(CALLERS))
def test_a_statement_alone_runs_again(caller, solved):
    text = FUNCTIONS.replace("HERE", "y = jax.lax.psum(x, 'd')") + CALLERS[caller]
    typing = _opened(text)
    at = text.index("'d'") + 2
    for character in "abc":
        check(typing.view(PATH), Settings())
        del solved[:]
        typing = typing.with_edits(PATH, [Edit(Span(at, at), character)])
        text = text[:at] + character + text[at:]
        found = check(typing.view(PATH), Settings())
        assert bool(solved) == (character == "a")
        again = check(_opened(text).view(PATH), Settings())
        assert found == again and any(f'"d{character}' in one.finding.message for one in found), text


def test_a_run_that_breaks_off_leaves_the_module_as_it_was(monkeypatch):
    text = FUNCTIONS.replace("HERE", "y = 1") + CALLERS["a program"]
    typing = _opened(text)
    check(typing.view(PATH), Settings())
    at = text.index("y = 1") + 5
    with monkeypatch.context() as broken:
        broken.setattr(roots, "finish", _breaks_off)
        once = typing.with_edits(PATH, [Edit(Span(at, at), "0")])
        with pytest.raises(RecursionError):
            once.view(PATH)
    again = typing.with_edits(PATH, [Edit(Span(at, at), "1")])
    cold = _opened(text[:at] + "1" + text[at:])
    assert check(again.view(PATH), Settings()) == check(cold.view(PATH), Settings())


def _breaks_off(run):
    raise RecursionError
