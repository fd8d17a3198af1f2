"""The parameter trees that are read from flax models, compared with those that flax creates.

Each leaf of a model gets a rule of its own, once with as many entries as the leaf has axes, and once with one more.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from meshlens.checking.check import check
from meshlens.project.workspace import open_workspace
from meshlens.settings import Settings
from programs_run import Runner

LINEN = """
import flax.linen as nn
import jax
import jax.numpy as jnp

MODEL


def made():
    return Model().init(jax.random.key(0), jnp.ones((2, 8, 6)))["params"]
"""
NNX = """
import jax
import jax.numpy as jnp
from flax import nnx

MODEL


def made():
    graph, state = nnx.split(Model(nnx.Rngs(0)), nnx.Param)
    return nnx.to_pure_dict(state)
"""
PRINTED = """
import json

leaves = jax.tree_util.tree_flatten_with_path(made())[0]
print(json.dumps([[jax.tree_util.keystr(path, simple=True, separator="/"), leaf.shape] for path, leaf in leaves]))
"""
USED = """
import re

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
RULES = [
    LINES
]


def spec_of(path, leaf):
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    for pattern, spec in RULES:
        if re.search(pattern, name):
            return spec
    return P()


params = made()
specs = jax.tree_util.tree_map_with_path(spec_of, params)
shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
placed = jax.device_put(params, shardings)
"""

COMPACT = """
class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        y = nn.Dense(2 * self.width)(y)
        y = nn.Dense(self.width, use_bias=False, name="down")(nn.gelu(y))
        return x + y


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        table = self.param("table", nn.initializers.normal(0.02), (8, 6))
        x = x + table
        for place in range(2):
            x = Block(6, name=f"block_{place}")(x)
        x = Block(6)(x)
        head = nn.Dense(3)
        return head(x) + head(x)
"""
SETUP = """
class Layer(nn.Module):
    def setup(self):
        self.attention = nn.MultiHeadDotProductAttention(num_heads=2)
        self.norm = nn.RMSNorm()

    def __call__(self, x):
        return self.attention(self.norm(x), self.norm(x))


class Model(nn.Module):
    depth: int = 2

    def setup(self):
        self.layers = [Layer() for _ in range(self.depth)]
        self.stem = nn.Dense(6)
        self.embed = nn.Embed(10, 6)

    def __call__(self, x):
        x = self.stem(x) + self.embed(jnp.zeros((2, 8), int))
        for layer in self.layers:
            x = layer(x)
        return self.decode(x)

    def decode(self, x):
        return x
"""
CONVOLUTIONS = """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(4, (3,))(x)
        x = nn.Conv(features=5, kernel_size=3, name="second")(x)
        x = nn.BatchNorm(use_running_average=False)(x)
        x = nn.GroupNorm(num_groups=5)(x)
        return nn.Dense(3, kernel_init=nn.initializers.zeros, name="out")(x.reshape((2, -1)))
"""
OBJECTS = """
class Block(nnx.Module):
    def __init__(self, width, *, rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.stem = nnx.Conv(3, 6, kernel_size=(3, 3), rngs=rngs)
        self.blocks = nnx.List([Block(6, rngs=rngs) for _ in range(1)])
        self.table = nnx.Embed(10, 6, rngs=rngs)
        self.head = nnx.Linear(6, 3, rngs=rngs)
"""
RUNNER = Runner()


def _leaves(program: str, folder: Path) -> dict[str, list[int]]:
    main = folder / "printed.py"
    main.write_text(program + PRINTED)
    printed = RUNNER.run(main)
    assert not printed.error, printed.error
    return dict(json.loads(printed.text))


def _lines_reported(program: str, rules: list[str], folder: Path) -> list[int]:
    path = folder / "main.py"
    text = program + USED.replace("LINES", "\n    ".join(rules))
    path.write_text(text)
    workspace = open_workspace([folder], files=[path], jax_version=(0, 10, 2), devices=1)
    found = [one.finding for one in check(workspace.view(path), Settings())]
    begin = text[: text.index("RULES = [")].count("\n") + 1
    return [text.encode()[: one.span.start].count(b"\n") - begin for one in found]


@pytest.mark.jax
@pytest.mark.parametrize(
    ("frame", "model", "known"),
    [
        pytest.param(LINEN, COMPACT, 13, id="compact"),
        pytest.param(LINEN, SETUP, 12, id="setup"),
        pytest.param(LINEN, CONVOLUTIONS, 10, id="convolutions"),
        pytest.param(NNX, OBJECTS, 10, id="nnx"),
    ],
)
def test_leaves_have_the_axes_that_flax_gives_them(frame: str, model: str, known: int, tmp_path: Path) -> None:
    program = frame.replace("MODEL", model)
    leaves = _leaves(program, tmp_path)
    fits = [f'(r"^{name}$", P({", ".join(["None"] * len(shape))})),' for name, shape in leaves.items()]
    assert _lines_reported(program, fits, tmp_path) == []
    too_long = [f'(r"^{name}$", P({", ".join(["None"] * (len(shape) + 1))})),' for name, shape in leaves.items()]
    assert len(_lines_reported(program, too_long, tmp_path)) == known


STACKED = """
class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(6, name="dense")(x), None


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return blocks(name="blocks")(x, None)[0]
"""
BOXED = """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        init = nn.with_partitioning(nn.initializers.lecun_normal(), (None, "data"))
        return nn.Dense(6, kernel_init=init, use_bias=False, name="dense")(x)
"""
CHOSEN = """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        if jax.default_backend() == "tpu":
            x = nn.Dense(6, name="dense")(x)
        return x
"""
SHARED = """
class Inner(nn.Module):
    dense: nn.Module

    @nn.compact
    def __call__(self, x):
        return self.dense(x)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Inner(nn.Dense(6), name="inner")(x)
"""


@pytest.mark.parametrize("model", [STACKED, BOXED, CHOSEN, SHARED])
def test_nothing_is_said_of_leaves_whose_path_or_rank_is_unknown(model: str, tmp_path: Path) -> None:
    program = LINEN.replace("MODEL", model)
    rules = ['(r"kernel", P(None, None, None)),', '(r"bias", P(None, None)),', '(r"inner", P(None, None)),']
    assert _lines_reported(program, rules, tmp_path) == []
