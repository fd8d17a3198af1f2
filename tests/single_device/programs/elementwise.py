# convert: scale_by_two
import jax.numpy as jnp


def scale_by_two(x):
    return x * 2


x = jnp.arange(16.0)
doubled = scale_by_two(x)
total = float(doubled.sum())
