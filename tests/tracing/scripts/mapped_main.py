"""A pmap of a step, with a replicated state and batches of rows for each device."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def update(params, batch, rate):
    def loss(params):
        return jnp.mean((batch["x"] @ params["w"] - batch["y"]) ** 2)

    grads = jax.lax.pmean(jax.grad(loss)(params), "batch")
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def run(steps: int, size: int = 64):
    params = jax_utils.replicate({"w": jnp.zeros((32, 8))})
    p_update = jax.pmap(functools.partial(update, rate=0.1), axis_name="batch")
    rng = np.random.default_rng(0)
    for _ in range(steps):
        batch = {"x": rng.normal(size=(size, 32)), "y": rng.normal(size=(size, 8))}
        batch = common_utils.shard(batch)
        params = p_update(params, batch)


if __name__ == "__main__":
    run(3)
