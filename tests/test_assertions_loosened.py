"""Assertions on the number of rows of the whole batch: a device has only a part, so a conversion loosens them."""

from __future__ import annotations

import pytest

from steps_converted import converted_step, refusal, runs_alike

PROGRAM = """
import chex
import jax
import jax.numpy as jnp
from flax.core import FrozenDict

ROWS = 16


class Net:
    pass


def loss_fn(params, batch):
    losses = (batch["x"] @ params - batch["y"]) ** 2
    ASSERTION
    return jnp.mean(losses)


@jax.jit
def step(params, batch: FrozenDict):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
x = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
for _ in range(3):
    params, loss = step(params, FrozenDict(x=x, y=x[:, 0]))
    print(loss)
"""


@pytest.mark.jax
@pytest.mark.parametrize(
    ("assertion", "becomes"),
    [
        ("chex.assert_shape(losses, (ROWS,))", "chex.assert_shape(losses, (None,))"),
        ("assert losses.shape == (ROWS,), 1", "assert losses.shape == (losses.shape[0],), 1"),
        ("assert len(losses.shape) == 1", "assert len(losses.shape) == 1"),
        ("chex.assert_shape(batch['x'], (ROWS, 3))", "chex.assert_shape(batch['x'], (None, 3))"),
    ],
)
def test_a_number_of_rows_is_left_out(tmp_path, assertion, becomes):
    before = PROGRAM.replace("ASSERTION", assertion)
    after = converted_step(tmp_path, before, "pmap")
    assert becomes in after
    runs_alike(tmp_path, before, after)


@pytest.mark.parametrize(
    "assertion", ["assert losses.shape[0] == ROWS", "assert losses.shape != (ROWS,)", "assert len(losses) > 8"]
)
def test_other_assertions_on_the_rows_are_refused(tmp_path, assertion):
    assert refusal(tmp_path, PROGRAM.replace("ASSERTION", assertion)) == "rows-asserted"
