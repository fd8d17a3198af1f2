"""Lesson 6: what worked last year.

JAX 0.10.0 removed `jax.device_put_replicated` and `jax.lax.pvary`, and JAX 0.6.0 removed `jax.tree_map`.
Type checkers still know the first of these, but the program ends with an AttributeError.
"""

from functools import partial

import jax
import jax.numpy as jnp

params = {"w": jnp.ones((16, 4)), "b": jnp.zeros(4)}
replicated = jax.device_put_replicated(params, jax.local_devices())


@partial(jax.pmap, axis_name="devices")
def norm(params):
    squares = jax.tree_map(lambda leaf: jnp.sum(leaf**2), params)
    return jax.lax.psum(squares, "devices")


print(norm(replicated))
