"""Functions that compute gradients for the step that calls them: they get its axis name, or the step is refused."""

from __future__ import annotations

from typing import Any

import pytest

import depth
from command_line import meshlens, write
from steps_converted import converted_step, refusal, runs_alike

pytestmark = pytest.mark.slow

PROGRAM = """
from typing import Any, Callable

import flax
import jax
import jax.numpy as jnp
import optax


@flax.struct.dataclass
class Model:
    apply_fn: Callable = flax.struct.field(pytree_node=False)
    params: Any
    tx: Any = flax.struct.field(pytree_node=False)
    opt_state: Any

    @classmethod
    def create(cls, apply_fn, params, tx) -> "Model":
        return cls(apply_fn=apply_fn, params=params, tx=tx, opt_state=tx.init(params))

    def apply_loss(self, loss_fn, has_aux=True):
        GRADIENT
        updates, opt_state = self.tx.update(grads, self.opt_state, self.params)
        params = optax.apply_updates(self.params, updates)
        return self.replace(params=params, opt_state=opt_state), info


SUBCLASS
def predict(params, x):
    return jnp.tanh(x @ params["w"]) + params["b"]


DECORATOR
def update_value(value: Model, batch):
    goal = batch["y"] + 0.9 * predict(value.params, batch["next"])

    def loss_fn(params):
        error = predict(params, batch["x"]) - goal
        loss = LOSS
        return loss, {"value_loss": loss}

    return value.apply_loss(loss_fn)


def update_actor(actor: Model, value: Model, batch, scale):
    weights = jnp.exp(predict(value.params, batch["next"]) - predict(value.params, batch["x"]))

    def loss_fn(params):
        loss = jnp.mean(weights * (predict(params, batch["x"]) - scale * batch["y"]) ** 2)
        return loss, {"actor_loss": loss}

    new_actor, info = actor.apply_loss(loss_fn)
    return new_actor, info


@jax.jit
def step(actor: Model, value: Model, batch):
    new_value, value_info = CALL
    new_actor, actor_info = update_actor(actor, new_value, batch, 1 / (1 + value_info["value_loss"]))
    return new_actor, new_value, {**value_info, **actor_info}


@jax.jit
def other(value: Model, batch):
    return update_value(value, batch)


params = {"w": jnp.sin(jnp.arange(3.0)), "b": jnp.zeros(())}
actor = Model.create(predict, params, optax.adam(0.1))
value = Model.create(predict, params, optax.adam(0.1))
x = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
for number in range(3):
    batch = {"x": x + number, "next": jnp.cos(x), "y": jnp.arange(16.0) / 16}
    actor, value, info = step(actor, value, batch)
    print(info)
    value, info = other(value, batch)
    print(info)
"""
BY_AUX = """grad_fn = jax.grad(loss_fn, has_aux=has_aux)
        if has_aux:
            grads, info = grad_fn(self.params)
        else:
            grads, info = grad_fn(self.params), {}"""
BY_VALUE = """(_, info), grads = jax.value_and_grad(loss_fn, has_aux=True)(self.params)"""
GATHERED = """grads, info = jax.grad(loss_fn, has_aux=True)(self.params)
        grads = jax.tree.map(lambda g: g / jnp.sqrt(jnp.sum(g**2)), grads)"""
WITH_AXIS = """grads, info = jax.grad(loss_fn, has_aux=True)(self.params)
        if pmap_axis is not None:
            grads = jax.lax.pmean(grads, axis_name=pmap_axis)"""
CLIPPED = """grads, info = jax.vmap(jax.grad(loss_fn, has_aux=True), in_axes=(None,), axis_size=2)(self.params)
        grads = jax.tree.map(lambda g: g.mean(0), grads)"""
OVERRIDES = """class Slow(Model):
    def apply_loss(self, loss_fn, has_aux=True):
        raise NotImplementedError

    def more(self):
        return 1


"""
MEAN = "jnp.mean(error**2)"


def _program(gradient: str = BY_AUX, loss: str = MEAN, **others: Any) -> str:
    text = PROGRAM.replace("GRADIENT", gradient).replace("LOSS", loss)
    text = text.replace("SUBCLASS\n", others.get("subclass", ""))
    text = text.replace("DECORATOR\n", others.get("decorator", ""))
    return text.replace("CALL", others.get("call", "update_value(value, batch)"))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize("gradient", depth.some([BY_AUX, BY_VALUE, GATHERED], 1))
def test_a_state_that_takes_a_loss_reduces_its_gradients_if_it_gets_an_axis(tmp_path, target, gradient):
    before = _program(gradient)
    after = converted_step(tmp_path, before, target)
    assert "def apply_loss(self, loss_fn, has_aux=True, axis_name=None):" in after
    assert "    if axis_name is not None:" in after
    assert 'update_value(value, batch, axis_name="batch")' in after
    assert "actor.apply_loss(loss_fn, axis_name=axis_name)" in after
    runs_alike(tmp_path, before, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_second_step_uses_the_axis_parameter_that_the_first_one_added(tmp_path, target):
    before = _program()
    write(tmp_path, {"main.py": before})
    for name in ("step", "other"):
        ran = meshlens("convert", f"main.py::{name}", "--to", target, "--devices", "8", "--write", cwd=tmp_path)
        assert ran.code == 0, ran.err
    after = (tmp_path / "main.py").read_text()
    assert after.count("axis_name=None") == 3
    assert after.count('update_value(value, batch, axis_name="batch")') == 2
    runs_alike(tmp_path, before, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_an_axis_parameter_of_any_name_that_is_there_gets_the_axis(tmp_path, target):
    before = _program(WITH_AXIS).replace("has_aux=True):", "has_aux=True, pmap_axis=None):", 1)
    after = converted_step(tmp_path, before, target)
    assert "value.apply_loss(loss_fn, pmap_axis=axis_name)" in after
    runs_alike(tmp_path, before, after)


@pytest.mark.jax
def test_a_helper_that_gets_its_arguments_with_a_star_reduces(tmp_path):
    before = _program(call="update_value(*(value, batch))")
    after = converted_step(tmp_path, before, "pmap")
    assert 'update_value(*(value, batch), axis_name="batch")' in after
    runs_alike(tmp_path, before, after)


@pytest.mark.parametrize(
    "changed",
    [
        {"loss": "jnp.sum(error**2)"},
        {"loss": "jnp.mean((error[:, None] - error[None]) ** 2)"},
        {"loss": "jnp.mean(jnp.sort(error) * jnp.arange(16))"},
        {"gradient": CLIPPED},
        {"subclass": OVERRIDES},
        {"decorator": "@jax.jit\n"},
        {"call": "jax.vmap(update_value, in_axes=(None, 0))(value, batch)"},
    ],
)
def test_a_helper_that_does_not_reduce_alike_or_is_not_certainly_called_is_refused(tmp_path, changed):
    assert refusal(tmp_path, _program(**changed)) in ("no-mean", "unreduced-output", "reduced-inside")
