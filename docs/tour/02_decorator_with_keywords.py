"""Lesson 2: `pmap` is not a decorator factory.

`@jax.jit(static_argnames=…)` has worked since JAX 0.8.1, but `@jax.pmap(axis_name=…)` never has:
the call needs the function. Use `functools.partial` to hold the other arguments.
"""

import jax
import jax.numpy as jnp


@jax.pmap(axis_name="devices")
def normalize(x):
    mean = jax.lax.pmean(x.mean(), axis_name="devices")
    spread = jax.lax.pmean(((x - mean) ** 2).mean(), axis_name="devices")
    return (x - mean) / jnp.sqrt(spread + 1e-6)


measurements = jnp.arange(8 * 100.0).reshape(8, 100)
print(normalize(measurements).std())
