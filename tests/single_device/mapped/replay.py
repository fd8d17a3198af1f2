# to: pmap shard_map
# convert: update
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Transitions(NamedTuple):
    seen: jax.Array
    chosen: jax.Array
    paid: jax.Array


@jax.jit
def update(params, observations, chosen, rewards, discount):
    def loss_fn(params):
        values = observations @ params
        picked = values[jnp.arange(values.shape[0]), chosen]
        return jnp.mean((picked - discount * rewards) ** 2), picked

    (loss, picked), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return params - 0.05 * grads, loss, picked


params = jnp.ones((3, 2))
for turn in range(3):
    data = Transitions(jnp.cos(jnp.arange(72.0) + turn).reshape(24, 3), jnp.arange(24) % 2, jnp.ones(24))
    params, loss, picked = update(params, data.seen, data.chosen, data.paid, 0.9)
