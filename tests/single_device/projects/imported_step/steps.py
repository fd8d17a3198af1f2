"""Steps that other files of the project run."""

import jax
import jax.numpy as jnp


def loss_fn(params, inputs, labels):
    return jnp.mean((inputs @ params - labels) ** 2)


@jax.jit
def train_step(params, inputs, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, inputs, labels)
    return params - 0.1 * grads, loss


def error(params, inputs, labels):
    return jnp.abs(inputs @ params - labels).max()
