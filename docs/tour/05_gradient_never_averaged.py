"""Lesson 5: nothing fails if you forget to average the gradient.

The loss is averaged, so the curve looks right. Each device follows its own gradient,
and after a while there are eight models instead of one.
"""

from functools import partial

import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    hidden = jax.nn.relu(x @ params["hidden"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)


@partial(jax.pmap, axis_name="batch")
def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    loss = jax.lax.pmean(loss, "batch")
    params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
    return params, loss


def replicate(tree):
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * 8), tree)


params = replicate({"hidden": jnp.full((32, 64), 0.1), "out": jnp.full((64, 1), 0.1)})
x = jax.random.normal(jax.random.key(0), (8, 16, 32))
for _ in range(10):
    params, loss = train_step(params, x, x.sum(-1, keepdims=True))
print(loss[0])
