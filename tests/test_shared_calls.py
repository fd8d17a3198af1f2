"""Roots that share calls: the root that makes a call first in a cold start gets its findings, after any edits.

A call with the same arguments runs once in the whole workspace, and a function outside every map only a few times: so
what one root runs decides what later roots need not run.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cold_start import ROOT, found, opened
from depth import examples
from meshlens.axes.domain.values import Const, Seq, Value
from meshlens.axes.runs.ledger import Key, Ledger, Shared
from meshlens.project.solving.ledgers import keep_results

TRAIN = """\
import jax
import jax.numpy as jnp


def init():
    return jnp.ones(3)


def mean(x, name="dp"):
    return jax.lax.pmean(x, name)


def step(w, x):
    g = mean(x)
    return w - g, mean(x, "dp")


p_step = jax.pmap(step, axis_name="dp", in_axes=(None, 0))


class Trainer:
    def __init__(self, name):
        self.name = name

    def step(self, x):
        return mean(x, self.name)
"""
MAIN = """\
import jax
from train import Trainer, init, mean, p_step, step


def evaluate(w, x):
    _, loss = step(w, x)
    return loss


def main():
    w = init()
"""
STATEMENTS = [
    "evaluate(init(), 3)",
    "step(init(), 3)",
    "mean(init())",
    'mean(init(), "i")',
    "main()",
    "p_step(1, 2)",
    'jax.pmap(evaluate, axis_name="dp")(1, 2)',
    'jax.pmap(evaluate, axis_name="i")',
    'Trainer("dp").step(3)',
    't = Trainer("i")',
    "t.step(init())",
    "import z",
    "x = 1",
]
INDENT = "    "

statements = st.sampled_from(STATEMENTS)
places = st.tuples(st.sampled_from("abz"), st.booleans(), st.integers(0, 9), statements, st.booleans())


def _changed(lines: list[str], inside: bool, where: int, statement: str, takes_away: bool) -> list[str]:
    """Returns the lines of a file with a statement added, in a function or at the end, or with one removed."""
    first = len(MAIN.splitlines())
    if takes_away:
        gone = [number for number in range(first, len(lines)) if lines[number]]
        return lines if not gone else [one for number, one in enumerate(lines) if number != gone[where % len(gone)]]
    return [*lines[:first], INDENT + statement, *lines[first:]] if inside else [*lines, statement]


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.lists(statements, min_size=3, max_size=3), edits=st.lists(places, min_size=1, max_size=8))
# The need to run one module again is noticed while another, which need not run again, is being queried.
@example(
    start=["p_step(1, 2)", "import z", "evaluate(init(), 3)"], edits=[("a", False, 0, "evaluate(init(), 3)", False)]
)
def test_whatever_is_typed_the_findings_of_shared_calls_lie_where_a_cold_start_has_them(start, edits):
    texts = {name: [*MAIN.splitlines(), one] for name, one in zip("abz", start, strict=True)}
    sources = {ROOT / f"{name}.py": "\n".join(lines).encode() for name, lines in texts.items()}
    sources[ROOT / "train.py"] = TRAIN.encode()
    workspace = opened(sources)
    found(workspace, sources)
    for name, *edit in edits:
        texts[name] = _changed(texts[name], *edit)
        path = ROOT / f"{name}.py"
        sources[path] = "\n".join(texts[name]).encode()
        workspace = workspace.with_file(path, sources[path])
        assert found(workspace, sources) == found(opened(sources), sources)


@pytest.mark.parametrize("statement", ["evaluate(init(), 3)", 'Trainer("dp").step(3)', 'mean(init(), "i")'])
def test_a_call_that_is_written_in_a_file_before_takes_the_finding_with_it_and_gives_it_back(statement):
    sources = {ROOT / "train.py": TRAIN.encode()}
    sources |= {ROOT / f"{name}.py": MAIN.encode() for name in "ab"}
    sources[ROOT / "b.py"] += f"\n\n{statement}\n".encode()
    workspace = opened(sources)
    before = found(workspace, sources)
    assert [one.code for one in before] == ["AX101"]
    for added in (f"{INDENT}{statement}\n", ""):
        sources[ROOT / "a.py"] = MAIN.encode() + added.encode()
        workspace = workspace.with_file(ROOT / "a.py", sources[ROOT / "a.py"])
        now = found(workspace, sources)
        assert now == found(opened(sources), sources)
    assert now == before


@pytest.mark.parametrize(("depth", "is_kept"), [(3, True), (11, False)])
def test_a_result_is_kept_that_a_root_leaves_again_unless_it_would_take_long_to_compare(depth, is_kept):
    def pairs_of_pairs() -> Value:
        made: Value = Const(1)
        for _ in range(depth):
            made = Seq("tuple", (made, made))
        return made

    key = Key(("step",))
    old, new = (Ledger(left={key: Shared(pairs_of_pairs(), ("a.py", "main"), {})}) for _ in range(2))
    keep_results(old, new)
    assert (new.left[key] is old.left[key]) == is_kept
