"""The parameter trees that are read from flax and equinox models, compared with those that these libraries create.

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
EQUINOX = """
import equinox as eqx
import jax
import jax.numpy as jnp

MODEL


def made():
    return eqx.partition(Model(jax.random.key(0)), eqx.is_array)[0]
"""
PRINTED = """
import json

leaves = jax.tree_util.tree_flatten_with_path(made())[0]
print(json.dumps([[jax.tree_util.keystr(path, simple=True, separator="/"), leaf.shape] for path, leaf in leaves]))
"""
IMPORTED = """
import re

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
RULES = [
    LINES
]

"""
SIMPLE = """

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
NAMED = """

def path_to_string(path, sep=None):
    keys = []
    for key in path:
        if isinstance(key, jax.tree_util.SequenceKey):
            keys.append(str(key.idx))
        elif isinstance(key, jax.tree_util.DictKey):
            keys.append(str(key.key))
        elif isinstance(key, jax.tree_util.GetAttrKey):
            keys.append(str(key.name))
        else:
            keys.append(str(key))
    if sep is None:
        return tuple(keys)
    return sep.join(keys)


def named_tree_map(f, tree, *rest, is_leaf=None, sep=None):
    return jax.tree_util.tree_map_with_path(
        lambda path, x, *r: f(path_to_string(path, sep=sep), x, *r), tree, *rest, is_leaf=is_leaf
    )


def match_partition_rules(rules, params):
    def get_partition_spec(name, leaf):
        if len(leaf.shape) == 0 or np.prod(leaf.shape) == 1:
            return P()
        for rule, spec in rules:
            if re.search(rule, name) is not None:
                return spec
        raise ValueError(f"no rule for {name}")

    return named_tree_map(get_partition_spec, params, sep="/")


specs = match_partition_rules([*RULES, (".*", P())], jax.eval_shape(made))
shardings = jax.tree_util.tree_map(lambda spec: NamedSharding(mesh, spec), specs)
params = jax.jit(made, out_shardings=shardings)()
"""
IN_CLASS = """

class Partitioner:
    def __init__(self, mesh, rules):
        self.mesh = mesh
        self.rules = [(re.compile(pattern), spec) for pattern, spec in rules]

    def spec(self, name):
        return next((spec for pattern, spec in self.rules if pattern.search(name)), P())

    def shardings(self, tree):
        def one(path, leaf):
            name = "/".join(p.key if hasattr(p, "key") else str(getattr(p, "idx", "")) for p in path)
            return NamedSharding(self.mesh, self.spec(name))

        return jax.tree.map_with_path(one, tree)


partitioner = Partitioner(mesh, RULES)
params = made()
params = jax.device_put(params, partitioner.shardings(params))
"""

FLAT = """

from flax.traverse_util import flatten_dict, unflatten_dict


def match(name):
    for pattern, spec in RULES:
        if re.search(pattern, name):
            return spec
    return P()


def shardings_for(tree):
    flat = flatten_dict(tree, sep="/")
    return unflatten_dict({key: NamedSharding(mesh, match(key)) for key in flat}, sep="/")


shardings = shardings_for(jax.eval_shape(made))
params = jax.jit(made, out_shardings=shardings)()
"""
FLAT_TUPLES = """

from flax.traverse_util import flatten_dict, unflatten_dict


def match(path):
    name = "/".join(path)
    return next((spec for pattern, spec in RULES if re.search(pattern, name)), P())


params = made()
specs = unflatten_dict({path: match(path) for path, leaf in flatten_dict(params).items()})
shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda one: isinstance(one, P))
params = jax.device_put(params, shardings)
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
MODULES = """
class Block(eqx.Module):
    up: jax.Array
    down: jax.Array
    norm: eqx.nn.LayerNorm
    width: int = eqx.field(static=True)

    def __init__(self, width, key):
        first, second = jax.random.split(key)
        init = jax.nn.initializers.lecun_normal()
        self.up = init(first, (width, 4 * width))
        self.down = jnp.zeros((4 * width, width, 1))
        self.norm = eqx.nn.LayerNorm(width)
        self.width = width


class Model(eqx.Module):
    embed: eqx.nn.Embedding
    blocks: list
    head: eqx.nn.Linear
    plain: eqx.nn.Linear
    scales: dict

    def __init__(self, key):
        keys = jax.random.split(key, 4)
        self.embed = eqx.nn.Embedding(10, 6, key=keys[0])
        self.blocks = [Block(6, keys[1])]
        self.head = eqx.nn.Linear(6, 3, key=keys[2])
        self.plain = eqx.nn.Linear(6, 3, use_bias=False, key=keys[3])
        self.scales = {"in": jnp.ones(()), "out": jnp.ones((2, 3))}
"""
RUNNER = Runner()


def _leaves(program: str, folder: Path) -> dict[str, list[int]]:
    main = folder / "printed.py"
    main.write_text(program + PRINTED)
    printed = RUNNER.run(main)
    assert not printed.error, printed.error
    return dict(json.loads(printed.text))


def _program(model: str, used: str, rules: list[str]) -> str:
    return model + IMPORTED.replace("LINES", "\n    ".join(rules)) + used


def _lines_reported(text: str, folder: Path) -> list[int]:
    path = folder / "main.py"
    path.write_text(text)
    workspace = open_workspace([folder], files=[path], jax_version=(0, 10, 2), devices=8)
    found = [one.finding for one in check(workspace.view(path), Settings())]
    begin = text[: text.index("RULES = [")].count("\n") + 1
    return [text.encode()[: one.span.start].count(b"\n") - begin for one in found]


def _rules(leaves: dict[str, list[int]], more: int) -> list[str]:
    """Returns a rule for each leaf, with as many entries as it has axes or more."""
    return [f'(r"^{name}$", P({", ".join(["None"] * (len(shape) + more))})),' for name, shape in leaves.items()]


@pytest.mark.jax
@pytest.mark.parametrize(
    ("frame", "model", "known"),
    [
        pytest.param(LINEN, COMPACT, 13, id="compact"),
        pytest.param(LINEN, SETUP, 12, id="setup"),
        pytest.param(LINEN, CONVOLUTIONS, 10, id="convolutions"),
        pytest.param(NNX, OBJECTS, 10, id="nnx"),
        pytest.param(NNX.replace("nnx.to_pure_dict(state)", "state"), OBJECTS, 10, id="nnx state"),
        pytest.param(EQUINOX, MODULES, 10, id="equinox"),
        pytest.param(
            EQUINOX.replace(
                "eqx.partition(Model(jax.random.key(0)), eqx.is_array)[0]",
                "eqx.filter(Model(jax.random.key(0)), eqx.is_array)",
            ),
            MODULES,
            10,
            id="equinox filter",
        ),
    ],
)
def test_leaves_have_the_axes_that_libraries_give_them(frame: str, model: str, known: int, tmp_path: Path) -> None:
    made = frame.replace("MODEL", model)
    leaves = _leaves(made, tmp_path)
    assert _lines_reported(_program(made, SIMPLE, _rules(leaves, 0)), tmp_path) == []
    assert len(_lines_reported(_program(made, SIMPLE, _rules(leaves, 1)), tmp_path)) == known


@pytest.mark.jax
@pytest.mark.parametrize("used", [SIMPLE, NAMED, IN_CLASS, FLAT, FLAT_TUPLES])
def test_rules_are_followed_however_they_are_written(used: str, tmp_path: Path) -> None:
    made = LINEN.replace("MODEL", COMPACT)
    leaves = _leaves(made, tmp_path)
    fits = _program(made, used, _rules(leaves, 0))
    assert _lines_reported(fits, tmp_path) == []
    assert not RUNNER.run(tmp_path / "main.py").error
    too_long = _program(made, used, _rules(leaves, 1))
    assert len(_lines_reported(too_long, tmp_path)) == 13
    assert "ValueError" in RUNNER.run(tmp_path / "main.py").error


BLOCK = """
class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(6, name="dense")(x), None

"""
STACKED = (
    BLOCK
    + """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
        return blocks(name="blocks")(x, None)[0]
"""
)
STACKED_AT_TOP = (
    BLOCK
    + """
Blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Blocks(name="blocks")(x, None)[0]
"""
)
STACKED_IN_SETUP = (
    BLOCK
    + """
def stacked(cls):
    return nn.scan(cls, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)


class Model(nn.Module):
    def setup(self):
        self.blocks = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()

    def __call__(self, x):
        return self.blocks(x, None)[0]
"""
)
STACKED_BY_DECORATOR = """
from functools import partial


@partial(nn.scan, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
class Blocks(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(6, name="dense")(x), None


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Blocks(name="blocks")(x, None)[0]
"""
STACKED_BY_HELPER = (
    BLOCK
    + """
def stacked(cls):
    return nn.scan(cls, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return stacked(Block)(name="blocks")(x, None)[0]
"""
)
MAPPED_BY_FLAX = """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        dense = nn.vmap(nn.Dense, in_axes=0, out_axes=0, variable_axes={"params": 0}, split_rngs={"params": True})
        return dense(6, name="dense")(x)
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


STACKED_BY_EQUINOX = """
class Layer(eqx.Module):
    kernel: jax.Array
    bias: jax.Array

    def __init__(self, key):
        self.kernel = jax.random.normal(key, (6, 6))
        self.bias = jnp.zeros(6)


class Model(eqx.Module):
    layers: Layer
    inner: Layer
    more: list

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = eqx.filter_vmap(Layer)(keys)
        self.inner = eqx.filter_vmap(lambda key: Layer(key))(keys)
        self.more = [jax.vmap(Layer)(keys), jax.tree.map(lambda *x: jnp.stack(x), *[Layer(key) for key in keys])]
"""
PASSED = """
class Inner(nn.Module):
    @nn.compact
    def __call__(self, x, dense):
        return dense(x)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Inner(name="inner")(x, nn.Dense(6, name="dense"))
"""
WITHOUT_BIAS = """
class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(6, False, name="dense")(x)[..., None] @ jnp.ones((1, 1))
"""


@pytest.mark.parametrize(
    "model",
    [
        STACKED,
        STACKED_AT_TOP,
        STACKED_IN_SETUP,
        STACKED_BY_DECORATOR,
        STACKED_BY_HELPER,
        MAPPED_BY_FLAX,
        BOXED,
        CHOSEN,
        SHARED,
        PASSED,
    ],
)
def test_nothing_is_said_of_leaves_whose_path_or_rank_is_unknown(model: str, tmp_path: Path) -> None:
    rules = ['(r"kernel", P(None, None, None)),', '(r"bias", P(None, None)),', '(r"inner", P(None, None)),']
    program = _program(LINEN.replace("MODEL", model), SIMPLE, rules)
    assert _lines_reported(program, tmp_path) == []


@pytest.mark.jax
def test_nothing_is_said_of_modules_that_equinox_stacks(tmp_path: Path) -> None:
    rules = ['(r"kernel", P(None, None, None)),', '(r"bias", P(None, None)),']
    program = _program(EQUINOX.replace("MODEL", STACKED_BY_EQUINOX), SIMPLE, rules)
    assert _lines_reported(program, tmp_path) == []
    assert not RUNNER.run(tmp_path / "main.py").error


def test_nothing_is_said_of_a_bias_that_a_layer_does_not_have(tmp_path: Path) -> None:
    program = _program(LINEN.replace("MODEL", WITHOUT_BIAS), SIMPLE, ['(r"bias", P(None, None)),'])
    assert _lines_reported(program, tmp_path) == []


STACKED_OBJECTS = """
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=0, out_axes=0)
def create(rngs):
    return nnx.Linear(6, 6, rngs=rngs)


@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=0, out_axes=0)
def create_block(rngs):
    return Block(rngs)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(6, 6, rngs=rngs)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = create(rngs)
        self.blocks = create_block(rngs)
"""


def test_nothing_is_said_of_objects_that_are_stacked(tmp_path: Path) -> None:
    rules = ['(r"kernel", P(None, None, None)),', '(r"bias", P(None, None)),']
    program = _program(NNX.replace("MODEL", STACKED_OBJECTS), SIMPLE, rules)
    assert _lines_reported(program, tmp_path) == []


MANY = """

def made():
    keys = jax.random.split(jax.random.key(0), 8)
    return MANY
"""


@pytest.mark.parametrize(
    "many",
    [
        "jax.vmap(lambda key: Model().init(key, jnp.ones((2, 8, 6))))(keys)",
        "jax.lax.map(lambda key: Model().init(key, jnp.ones((2, 8, 6))), keys)",
        "jax.lax.scan(lambda _, key: (None, Model().init(key, jnp.ones((2, 8, 6)))), None, keys)[1]",
        "jax.pmap(lambda key: Model().init(key, jnp.ones((2, 8, 6))))(keys)",
        "flax.jax_utils.replicate(Model().init(keys[0], jnp.ones((2, 8, 6))))",
        "jax.tree.map(lambda x: x[None], Model().init(keys[0], jnp.ones((2, 8, 6))))",
        "jax.tree.map(lambda *xs: jnp.stack(xs), *[Model().init(key, jnp.ones((2, 8, 6))) for key in keys])",
        "jax.tree.map(jnp.ravel, Model().init(keys[0], jnp.ones((2, 8, 6))))",
    ],
)
def test_nothing_is_said_of_leaves_that_were_stacked_or_reshaped(many: str, tmp_path: Path) -> None:
    made = "import flax\n" + LINEN.replace("MODEL", COMPACT) + MANY.replace("MANY", many)
    rules = ['(r"kernel", P(None, None, None)),', '(r".*", P(None, None, None)),']
    assert _lines_reported(_program(made, SIMPLE, rules), tmp_path) == []
