"""The facts that are read from models: their layers, keys and reshapes, and the losses that they compute."""

from __future__ import annotations

import pytest

import depth
from steps_converted import converted_step, refusal, runs_alike

HELD = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Center(nn.Module):
    def __call__(self, x):
        return x - x.mean(0)


class Block(nn.Module):
    def setup(self):
        self.norm = NORM
        self.out = nn.Dense(3)

    def __call__(self, x):
        return self.out(self.norm(x))


def loss_fn(params, batch):
    return jnp.mean((Block().apply(params, batch) - batch) ** 2)


@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
params = Block().init(jax.random.key(0), batch)
for _ in range(3):
    params, loss = step(params, batch)
    print(loss)
"""
DRAWS = """
import math

import flax.linen as nn
import jax
import jax.numpy as jnp


class VAE(nn.Module):
    @nn.compact
    def __call__(self, x):
        mean = nn.Dense(4)(x)
        z = mean + 0.0 * jax.random.normal(KEY, SHAPE)
        pair = (2, 4)
        z = LAYER
        return nn.Dense(3)(z.reshape(PARTS).mean(1))


def loss_fn(params, batch, key):
    return jnp.mean((VAE().apply(params, batch, rngs={"z": key}) - batch) ** 2)


@jax.jit
def step(params, batch, key):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, key)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
key = jax.random.key(1)
params = VAE().init({"params": jax.random.key(0), "z": key}, batch)
for _ in range(3):
    params, loss = step(params, batch, key)
    print(loss)
"""
OWN_LOSS = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, y=None):
        out = nn.Dense(1)(x)
        loss = LOSS
        return RESULT


@jax.jit
def step(params, batch):
    STEP


batch = {"x": jnp.sin(jnp.arange(48.0)).reshape(16, 3), "y": jnp.arange(16.0)[:, None]}
print(step(Net().init(jax.random.key(0), batch["x"], batch["y"]), batch))
"""

ATTENDS = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Attention(nn.Module):
    @nn.compact
    def __call__(self, x):
        SHOWN
        scale = 1.0 / jnp.sqrt(x.shape[-1])
        q, k, v = (nn.DenseGeneral((2, 4))(x) for _ in range(3))
        weights = nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * scale)
        heads = jnp.einsum("bhqk,bkhd->EINSUM", weights, v)
        return nn.DenseGeneral(8, axis=(-2, -1))(heads)


def loss_fn(params, batch):
    return jnp.mean((Attention().apply(params, batch) - batch) ** 2)


@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


batch = jnp.sin(jnp.arange(640.0)).reshape(16, 5, 8)
params = Attention().init(jax.random.key(0), batch)
for _ in range(3):
    params, loss = step(params, batch)
    print(loss)
"""


def _attends(shown: str, result: str = "bqhd") -> str:
    return ATTENDS.replace("SHOWN", shown).replace("EINSUM", result)


def _draws(key: str = 'self.make_rng("z")', shape: str = "mean.shape", parts: str = "z.shape[:1] + (2, 4)") -> str:
    layer = "nn.relu(nn.Dense(math.prod(pair))(z))" if "pair" in parts else "nn.relu(nn.Dense(8)(z))"
    return DRAWS.replace("LAYER", layer).replace("KEY", key).replace("SHAPE", shape).replace("PARTS", parts)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_layer_that_a_model_holds_is_the_one_that_runs(tmp_path, target):
    text = HELD.replace("NORM", "nn.LayerNorm()")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("norm", ["Center()", "nn.LayerNorm() if True else Center()", "nn.LayerNorm(reduction_axes=0)"])
def test_a_layer_that_a_model_holds_and_that_has_rows_meet_is_refused(tmp_path, norm):
    assert refusal(tmp_path, HELD.replace("NORM", norm)) == "no-mean"


def test_a_layer_that_is_set_from_outside_may_be_another(tmp_path):
    text = HELD.replace("NORM", "nn.LayerNorm()").replace("loss_fn(params, batch):", "loss_fn(params, batch):\n    PUT")
    assert refusal(tmp_path, text.replace("PUT", "object.norm = Center()")) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize(
    "parts", depth.some(["z.shape[:1] + (2, 4)", "(*z.shape[:1], 2, 4)", "(-1, 2, 4)", "(-1, *pair)"], 1)
)
def test_a_model_may_draw_for_its_rows_and_give_them_more_axes(tmp_path, target, parts):
    text = _draws(parts=parts)
    after = converted_step(tmp_path, text, target)
    assert "fold_in" in after
    runs_alike(tmp_path, text, after)


@pytest.mark.parametrize(
    "said",
    [
        {"shape": "(16, 4)"},
        {"key": "jax.random.key(0)"},
        {"parts": "(2, 4) + z.shape[:1]"},
        {"parts": "z.shape[1:] + (4, 4)"},
        {"parts": "z.shape[:1] + (z.shape[0] // 8, -1)"},
        {"parts": "(-1, 4, 4)"},
        {"parts": "(-1, z.shape[-1] // 2, 2)"},
    ],
)
def test_a_model_that_draws_or_reshapes_in_another_way_is_refused(tmp_path, said):
    assert refusal(tmp_path, _draws(**said)) in ("no-mean", "random-numbers")


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_what_a_model_computes_as_a_mean_is_averaged(tmp_path, target):
    text = OWN_LOSS.replace("LOSS", "jnp.mean((out - y) ** 2)").replace("RESULT", "loss")
    text = text.replace("STEP", 'return Net().apply(params, batch["x"], batch["y"])')
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_what_a_model_computes_with_the_mean_of_its_rows_is_refused(tmp_path):
    text = OWN_LOSS.replace("LOSS", "jnp.exp(jnp.mean((out - y) ** 2))").replace("RESULT", "loss")
    step = 'return Net().apply(params, batch["x"], batch["y"])'
    assert refusal(tmp_path, text.replace("STEP", step)) == "unreduced-output"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize(
    "shown", depth.some(["b, t, d = x.shape", "t = x.shape[1]", "first = x[:, 0]", "last = x.shape[-1]"], 1)
)
def test_axes_that_the_code_or_the_call_shows_are_not_those_of_the_rows(tmp_path, target, shown):
    text = _attends(shown)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "last = x.shape[-1]",
        "t = x.shape[1] if x.ndim > 1 else 1",
        "t = x.shape[1]; x = x.reshape(-1)",
        "if x.ndim == 1:\n            return x / x.shape[-1]\n        t = x.shape[1]",
    ],
)
def test_an_axis_from_the_end_may_be_that_of_the_rows(tmp_path, shown):
    text = _attends(shown).replace("jnp.sin(jnp.arange(640.0)).reshape(16, 5, 8)", 'jnp.load("batch.npy")')
    assert refusal(tmp_path, text) == "no-mean"


@pytest.mark.parametrize(
    "between", ["if x.ndim == 2:\n            z = nn.Dense(4)(z)", "pair = (4, 4)", "z = z[:, :4]"]
)
def test_features_that_may_have_changed_are_not_taken_apart(tmp_path, between):
    parts = "(-1, *pair)" if "pair" in between else "(-1, 2, 4)"
    text = _draws(parts=parts).replace("        return nn.Dense", f"        {between}\n        return nn.Dense")
    assert refusal(tmp_path, text) == "no-mean"


RENAMED = """
import haiku as hk
import jax
import jax.numpy as jnp


def net(x):
    MIXED
    return hk.nets.MLP([16, 4])(x)


net = hk.transform(net)


def loss_fn(params, x, labels):
    logits = net.apply(params, None, x)
    labels = jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.sum(labels * jax.nn.log_softmax(logits)) / labels.shape[0]


@jax.jit
def step(params, x, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


x, labels = jnp.sin(jnp.arange(48.0)).reshape(16, 3), jnp.arange(16) % 4
params = net.init(jax.random.key(0), x)
for _ in range(3):
    params, loss = step(params, x, labels)
    print(loss)
"""


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_function_may_give_its_name_to_its_transformation(tmp_path, target):
    text = RENAMED.replace("    MIXED\n", "")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_a_function_that_has_rows_meet_is_refused_under_the_name_of_its_transformation(tmp_path):
    assert refusal(tmp_path, RENAMED.replace("MIXED", "x = x - x.mean(0)")) == "no-mean"
