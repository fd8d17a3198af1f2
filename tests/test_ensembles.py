"""Ensembles: their results have a new first axis, before the rows' axis."""

from __future__ import annotations

import pytest

import depth
from steps_converted import converted_step, refusal, runs_alike

LINEN = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Critic(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))


class Ensemble(nn.Module):
    @nn.compact
    def __call__(self, x):
        many = nn.vmap(
            Critic,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            in_axes=None,
            out_axes=OUT,
            axis_size=2,
        )
        return many()(x)


@jax.jit
def step(params, x, y):
    def loss_fn(params):
        q = Ensemble().apply(params, x)
        return LOSS

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


x = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
y = jnp.cos(jnp.arange(16.0)).reshape(16, 1)
params = Ensemble().init(jax.random.key(0), x)
for _ in range(3):
    params, loss = step(params, x, y)
    print(loss)
"""
MAPPED = """
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
@partial(jax.vmap, in_axes=(0, None))
def predict(w, x):
    return x @ w


@jax.jit
def step(w, x, y):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean((jnp.min(predict(w, x), axis=0) - y) ** 2))(w)
    return w - 0.1 * grads, loss


step(jnp.ones((3, 4)), jnp.ones((16, 4)), jnp.ones(16))
"""


def _program(loss: str, out: str = "0") -> str:
    return LINEN.replace("LOSS", loss).replace("OUT", out)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize(
    "loss",
    depth.some(
        [
            "jnp.mean((jnp.min(q, axis=0) - y) ** 2)",
            "((q.mean(0) - y) ** 2).mean()",
            "jnp.mean((q - y[None]) ** 2)",
            "jnp.mean((q[0] - y) ** 2 + (q[-1] - y) ** 2)",
        ],
        1,
    ),
)
def test_what_is_taken_over_the_members_keeps_the_rows(tmp_path, target, loss):
    before = _program(loss)
    runs_alike(tmp_path, before, converted_step(tmp_path, before, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_each_member_has_the_rows(tmp_path, target):
    before = _program("((one - y) ** 2 + (other - y) ** 2).mean()")
    before = before.replace("        q = ", "        one, other = ")
    runs_alike(tmp_path, before, converted_step(tmp_path, before, target))


@pytest.mark.parametrize(
    "loss",
    [
        "jnp.mean((q.min(axis=1) - y.min()) ** 2)",
        "jnp.mean(jnp.sort(q, axis=1)[0] * jnp.arange(16)[:, None])",
        "jnp.mean((q - q.mean(1, keepdims=True)) ** 2)",
        "jnp.mean(jnp.cumsum(q, axis=1)[0] - y)",
        "jnp.mean((jnp.min(q, axis=(0, 1)) - 1) ** 2)",
        "jnp.mean((q - y) ** 2)",
        "jnp.mean(q.reshape(-1, 2).max(-1))",
    ],
)
def test_what_is_taken_over_the_rows_is_refused(tmp_path, loss):
    assert refusal(tmp_path, _program(loss)) == "no-mean"


def test_members_that_may_lie_along_another_axis_are_refused(tmp_path):
    assert refusal(tmp_path, _program("jnp.mean((jnp.min(q, axis=0) - y) ** 2)", "-3")) == "no-mean"


def test_a_function_that_a_vmap_and_jit_decorate_may_move_rows(tmp_path):
    assert refusal(tmp_path, MAPPED) == "no-mean"


CHOSEN = """
import haiku as hk
import jax
import jax.numpy as jnp

TABLE = {"norm": hk.BatchNorm(True, True, 0.9), "linear": hk.Linear}
NETS = {"small": hk.nets.ResNet18, "large": hk.nets.ResNet50}
PLAIN = {"small": hk.nets.MLP, "large": hk.nets.MLP}


@hk.transform_with_state
def net(x):
    return MAKER(x)


@jax.jit
def step(params, state, x):
    out, STATE = net.apply(params, state, None, x)
    return RESULT


x = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
step(*net.init(jax.random.key(0), x), x)
"""


@pytest.mark.parametrize(
    ("maker", "state", "result"),
    [
        ('NETS["small"](10)', "_", "jnp.mean(out)"),
        ('getattr(hk.nets, "ResNet18")(10)', "_", "jnp.mean(out)"),
        ('unknown["small"](10)', "_", "jnp.mean(out)"),
        ('PLAIN["small"]([4, 2])', "state", "jnp.mean(out), state"),
        ("hk.nets.MLP([4, 2])", "state", "jnp.mean(out), state"),
    ],
)
def test_layers_from_a_table_and_states_of_haiku_are_not_taken_on_trust(tmp_path, maker, state, result):
    text = CHOSEN.replace("MAKER", maker).replace("STATE", state).replace("RESULT", result)
    assert refusal(tmp_path, text) == "unreduced-output"


def test_layers_from_a_table_that_keep_rows_apart_are_followed(tmp_path):
    text = CHOSEN.replace("MAKER", 'PLAIN["small"]([4, 2])').replace("STATE", "_").replace("RESULT", "jnp.mean(out)")
    assert "pmean" in converted_step(tmp_path, text, "pmap")
