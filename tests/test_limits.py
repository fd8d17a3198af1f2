"""Code that exceeds the limits of one root runs as a root itself, and code that many roots use hides no finding."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from hostile_seeds import SEEDS
from meshlens.axes.domain.specs import possible_specs, specs_in
from meshlens.axes.domain.values import Const, Dict, Site, Spec, Union, Value
from meshlens.axes.runs.run import MOST_CONTEXTS
from meshlens.axes.worth.spending import MOST_BODIES_OUTSIDE
from meshlens.checking.check import check
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings

PATH = Path("/limits/program.py")
HELPER = """
def helper_{0}(x):
    return jax.pmap(lambda y: jax.lax.psum(y, "{1}"), axis_name="data")(x)

"""


def test_a_program_that_calls_very_much_hides_nothing() -> None:
    names = ["data"] * MOST_BODIES_OUTSIDE + ["typo"]
    calls = "".join(f"    helper_{number}(x)\n" for number in range(len(names)))
    helpers = "".join(HELPER.format(number, name) for number, name in enumerate(names))
    head = "import jax\nimport jax.numpy as jnp\n"
    program = "if __name__ == '__main__':\n    main(jnp.ones((8, 2)))\n"
    text = f"{head}{helpers}\ndef main(x):\n{calls}\n\n{program}"
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert [one.code for one in check(workspace.view(PATH), Settings())] == ["AX101"]


WRAPPED = """
    def test_{0}(self):
        @self.mapped(axis_name="batch_{0}")
        def step(x):
            return jax.lax.psum(x, "{1}")

        step(jnp.ones((8, 2)))

"""


def test_a_thin_wrapper_that_many_tests_use_binds_what_each_gives_it() -> None:
    head = "import functools\nimport jax\nimport jax.numpy as jnp\n\n\nclass StepTest:\n"
    wrapper = "    def mapped(self, **given):\n        return functools.partial(jax.pmap, **given)\n"
    tests = "".join(WRAPPED.format(number, f"batch_{number}") for number in range(30))
    text = f"{head}{wrapper}{tests}{WRAPPED.format(30, 'typo')}"
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert [one.finding.message for one in check(workspace.view(PATH), Settings())] == [
        'axis "typo" is not bound here (bound: "batch_30")'
    ]


GATHER = """
import jax
import jax.numpy as jnp


def gather(x, scale):
    return jax.lax.all_gather(x, "data") * scale


def first(x):
{0}    return x


def second(x):
    return gather(x, "last")


if __name__ == "__main__":
    jax.pmap(first, axis_name="data")(jnp.ones((8, 2)))
    jax.pmap(second, axis_name="batch")(jnp.ones((8, 2)))
"""


def test_a_helper_that_ran_often_under_one_map_runs_under_the_next() -> None:
    text = GATHER.format("".join(f'    x = gather(x, "{number}")\n' for number in range(MOST_CONTEXTS + 5)))
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert [one.finding.message for one in check(workspace.view(PATH), Settings())] == [
        'axis "data", which all_gather uses, is not bound on this call path (bound: "batch")'
    ]


def test_a_spec_that_a_tree_holds_500_times_is_met_once() -> None:
    spec = Spec((Const("data"),), Site("program.py", "main", 1))
    tree: Value = spec
    for _ in range(9):
        tree = Dict((("left", tree), ("right", tree)))
    assert list(specs_in(tree)) == [spec]
    one_of_them = Dict((("certain", tree), ("possible", Union((tree, Const(None))))))
    assert list(possible_specs(one_of_them)) == [(spec, True), (spec, False)]


def test_five_thousand_partials_around_a_function_hide_nothing() -> None:
    fault = 'import jax\nfrom functools import partial\n\n\ndef g(x):\n    return jax.lax.psum(x, "bacth")\n\n\n'
    partials = "g = partial(g)\n" * 5_000
    text = f'{fault}{partials}jax.pmap(g, axis_name="batch")(1)\n'
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert "AX101" in [one.code for one in check(workspace.view(PATH), Settings())]


def test_a_call_with_a_large_value_is_as_much_work_as_the_value_is_large() -> None:
    def calls(doublings: int) -> int:
        head = "import jax\n\n\ndef total(x):\n    return jax.lax.psum(x, 'i')\n\n\np = ('i',)\n"
        doubled = "p = (p, p)\n" * doublings
        loops = "".join(f"{' ' * depth}for i{depth} in range(3):\n" for depth in range(7))
        text = f"{head}{doubled}{loops}{' ' * 7}jax.jit(total, in_shardings=p)(p)\n"
        workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
        return len(workspace.solution.results[(str(PATH), "")].records.calls)

    assert calls(10) < calls(2) / 10


def test_alternatives_that_call_alternatives_are_cut_short() -> None:
    begun = process_time()
    text = SEEDS["alternatives that call alternatives"]
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert workspace.solution.results
    assert process_time() - begun < 2.0
