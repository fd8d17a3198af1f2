# convert: step
"""The step is bound to its configuration, and called with a splat."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


def step(config, params, x, y, mask=None):
    def loss(p):
        wrong = (x @ p["w"] + p["b"] - y) ** 2
        return jnp.sum(wrong * mask) / jnp.sum(mask) if mask is not None else jnp.mean(wrong)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - config["lr"] * g, params, grads), value


fast = jax.jit(partial(step, {"lr": 0.1}))
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
generator = np.random.default_rng(2)
for _ in range(3):
    pair = generator.normal(size=(16, 3)).astype(np.float32), generator.normal(size=16).astype(np.float32)
    params, value = fast(params, *pair, mask=generator.integers(0, 2, size=16))
