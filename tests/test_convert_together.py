"""`meshlens convert --all`: converting all places at once gives the same result as converting one after another."""

from __future__ import annotations

import ast

import pytest

from command_line import meshlens, write

pytestmark = pytest.mark.slow

SEVERAL = """\
import functools

import jax


@functools.partial(jax.pmap, axis_name="batch")
def grads(x):
    return jax.lax.pmean(x, "batch")


@functools.partial(jax.pmap, axis_name="rows", in_axes=(None, 0))
def loss(params, x):
    return jax.lax.pmean((x @ params).mean(), "rows")


def train(x):
    train_step = jax.pmap(lambda x: x * 2, axis_name="batch")
    # The same devices serve both.
    eval_step = jax.pmap(lambda x: x + 1, axis_name="batch")
    test_step = jax.pmap(lambda x: x - 1, axis_name="test")
    for _ in range(3):
        x = train_step(x)
    return eval_step(x), test_step(x)


unnamed = jax.pmap(lambda x: x * 3)
pair = jax.pmap(lambda x: x, axis_name="batch"), jax.pmap(lambda x: x - 3, axis_name="other")
"""
SEVERAL_NAMES = ("grads", "loss", "train_step", "eval_step", "test_step", "unnamed", "pair")
KEYWORDS = """\
import jax
from steps import p_step, p_other

print(p_step(x=jax.numpy.ones(8)), p_other(jax.numpy.ones(8)))
"""
STEPS = """\
import jax


def step(x):
    return x * 2


p_step = jax.pmap(step)
p_other = jax.pmap(step)
"""
NAMED = """\
import jax


def step(x, *, rate):
    return x * rate


first = jax.pmap(step)
second = jax.pmap(step, axis_name="i")
first(jax.numpy.ones(8), rate=jax.numpy.ones(8))
second(jax.numpy.ones(8), rate=jax.numpy.ones(8))
"""
NESTED = """\
import jax

both = jax.pmap(jax.pmap(lambda x: jax.lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
one = jax.pmap(lambda x: x)
total = both(jax.numpy.ones((2, 4, 3)))
"""


@pytest.mark.parametrize(
    ("texts", "places", "options"),
    [
        ({"a.py": SEVERAL}, [("a.py", name) for name in SEVERAL_NAMES], ()),
        ({"a.py": SEVERAL.replace("\n", "\r\n")}, [("a.py", name) for name in SEVERAL_NAMES], ()),
        ({"a.py": SEVERAL.replace("import jax\n", "import jax\nimport jax.numpy as jnp\n")},
         [("a.py", name) for name in SEVERAL_NAMES], ()),
        ({"a.py": KEYWORDS, "steps.py": STEPS}, [("steps.py", "p_step"), ("steps.py", "p_other")], ()),
        ({"a.py": NAMED}, [("a.py", "first"), ("a.py", "second")], ()),
        ({"a.py": NESTED}, [("a.py", "both"), ("a.py", "one")], ("--devices", "2x4")),
    ],
)  # fmt: skip
def test_all_at_once_is_one_after_the_other(tmp_path, texts, places, options):
    for folder in ("together", "apart"):
        write(tmp_path / folder, texts)
    meshlens("convert", ".", "--all", "--to", "shard_map", *options, "--write", cwd=tmp_path / "together")
    for path, name in places:
        ran = meshlens("convert", f"{path}::{name}", "--to", "shard_map", *options, "--write", cwd=tmp_path / "apart")
        assert ran.code == 0, ran.err
    for path, before in texts.items():
        together = (tmp_path / "together" / path).read_bytes().decode()
        assert together != before
        assert statements(together) == statements((tmp_path / "apart" / path).read_bytes().decode())


def statements(text):
    """Returns the statements of a file, sorted: new helpers are added above earlier ones."""
    return sorted(ast.unparse(statement) for statement in ast.parse(text).body)
