"""A step is refused if the model, or a function that the model holds, may be one that combines rows.

Every program is a training step; the tests differ in how the program chooses its model, or what the model holds.
"""

from __future__ import annotations

import pytest

from steps_converted import converted_step, refusal, runs_alike

HEAD = """
import functools
from typing import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


def rank(h):
    return jnp.argsort(jnp.argsort(h, 0), 0) / h.shape[0]


def make(model, seed=0):
    params = model.init(jax.random.key(seed), jnp.ones((1, 4)))["params"]
    return TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))


def data(seed):
    x = jax.random.normal(jax.random.key(seed), (32, 4))
    return x, jnp.sin(x).sum(1)


class Net(nn.Module):
    activation: Callable = nn.relu

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(self.activation(nn.Dense(8)(x)))[:, 0]


class Chosen(nn.Module):
    kind: str = "rms"

    def setup(self):
        self.first, self.last = nn.Dense(8), nn.Dense(1)
        self.norm = NORM

    def rms(self, h):
        return h / jnp.abs(h).max(-1, keepdims=True)

    def largest(self, h):
        return h / jnp.abs(h).max(0)

    def __call__(self, x):
        return self.last(CALL(self.first(x)))[:, 0]


class Centered(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Dense(8)(x)
        return nn.Dense(1)(h - h.mean(0))[:, 0]


class Normed(nn.Module):
    norm: Callable = nn.LayerNorm

    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(self.norm()(nn.Dense(8)(x)))[:, 0]


NORMS = {"rms": nn.tanh, "largest": rank}


@jax.jit
def step(state, other, x, y):
    aim = other.apply_fn({"params": other.params}, x)

    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y - aim) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


class Trainer:
    def __init__(self):
        self.state, self.other = make(Net()), make(Net(), 1)

    def promote(self, model):
        self.state = self.state.replace(apply_fn=model.apply)

    def fit(self):
        for i in range(2):
            self.state, loss = step(self.state, self.other, *data(i))


"""
LOOP = """
state, other = make(Net()), make(MODEL, 1)
for i in range(3):
    state, loss = step(state, other, *data(i))
"""
MODELS = {
    "a table": "Net({'relu': nn.relu, 'rank': rank}[name])",
    "two stars": "Net(**config['critic'])",
    "a comprehension": "[Net(held) for held in (nn.tanh, rank)][1]",
    "a name in a setting": "Net(getattr(nn, name, None) or globals()[name])",
    "a partial with axes": "Normed(norm=functools.partial(nn.LayerNorm, reduction_axes=(0, 1)))",
    "a method by its name": "Chosen('largest')",
}


def _text(calls: str, norm: str = "nn.tanh", call: str = "getattr(self, self.kind)") -> str:
    settings = "name, config = 'rank', {'critic': {'activation': rank}}\n"
    return HEAD.replace("NORM\n", f"{norm}\n").replace("CALL", call) + settings + calls


@pytest.mark.parametrize("name", MODELS)
def test_a_function_that_a_model_holds_may_combine_rows(tmp_path, name):
    assert refusal(tmp_path, _text(LOOP.replace("MODEL", MODELS[name]))) == "no-mean"


@pytest.mark.parametrize("norm", ["NORMS[self.kind]", "getattr(self, self.kind)"])
def test_a_layer_that_setup_chooses_may_combine_rows(tmp_path, norm):
    assert refusal(tmp_path, _text(LOOP.replace("MODEL", "Chosen('largest')"), norm, "self.norm")) == "no-mean"


def test_a_state_may_get_another_model_later(tmp_path):
    loop = LOOP.replace("MODEL", "Net()")
    changed = "    if i == 2:\n        other = other.replace(apply_fn=make(Centered()).apply_fn)\n"
    assert refusal(tmp_path, _text(loop + changed)) == "no-mean"
    fits = "trainer = Trainer()\ntrainer.fit()\ntrainer.promote(Centered())\ntrainer.fit()\n"
    assert refusal(tmp_path, _text(fits)) == "no-mean"


FITS = "trainer = Trainer()\ntrainer.fit()\ntotal = sum(x.sum() for x in jax.tree.leaves(trainer.state.params))\n"


@pytest.mark.jax
@pytest.mark.parametrize("calls", [LOOP.replace("MODEL", "Net(nn.tanh)"), FITS])
def test_models_that_keep_rows_apart_give_the_same_numbers(tmp_path, calls):
    text = _text(calls)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))


TARGET = """
import jax
import jax.numpy as jnp
import optax


def apply(variables, x):
    return x @ variables["params"]["w"]


@jax.jit
def step(params, target, x, y):
    aim = apply({"params": target}, x)

    def loss_fn(params):
        return jnp.mean((apply({"params": params}, x) - y - 0.9 * aim) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    params = optax.apply_updates(params, jax.tree.map(lambda g: -0.1 * g, grads))
    return params, optax.incremental_update(params, target, 0.05), loss


def data(seed):
    x = jnp.sin(jnp.arange(64.0) + seed).reshape(16, 4)
    return x, x.sum(1)


params = {"w": jnp.ones(4)}
target = params
for i in range(3):
    params, target, loss = step(params, target, *data(i))
"""


@pytest.mark.jax
def test_the_parameters_of_a_target_network_hold_no_rows(tmp_path):
    runs_alike(tmp_path, TARGET, converted_step(tmp_path, TARGET, "pmap"))


ROWS = """
import jax
import jax.numpy as jnp


@jax.jit
def step(batch, values, w):
    def change(i, rows):
        rows = rows.at[i, batch[i]].add(values[i, 1])
        BODY

    rows = jax.lax.fori_loop(0, batch.shape[0], change, jnp.zeros_like(values))
    return jnp.mean((rows @ w) ** 2)


batch = jnp.arange(32) % 4
loss = step(batch, jnp.sin(jnp.arange(128.0)).reshape(32, 4), jnp.arange(4.0))
"""
ONE_BY_ONE = [
    "return rows",
    "return rows.at[i].multiply(rows[i, 0])",
    "rows = rows.at[i].set(values[i])\n        return rows",
]
NOT_ONE_BY_ONE = {
    "all rows at each step": "return rows * 0.9",
    "another row": "return rows.at[i - 1].add(values[i])",
    "the first row": "return rows.at[i].add(values[0])",
    "the number of the row": "return rows.at[i].add(i * values[i])",
    "all rows in one": "return rows.at[i].add(rows.sum())",
    "a copy": "other = rows * 2\n        return other",
}


@pytest.mark.jax
@pytest.mark.parametrize("body", ONE_BY_ONE)
def test_a_loop_that_changes_row_by_row_gives_the_same_numbers(tmp_path, body):
    text = ROWS.replace("BODY", body)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))


@pytest.mark.parametrize("name", NOT_ONE_BY_ONE)
def test_a_loop_that_uses_other_rows_is_refused(tmp_path, name):
    assert refusal(tmp_path, ROWS.replace("BODY", NOT_ONE_BY_ONE[name])) == "unreduced-output"
