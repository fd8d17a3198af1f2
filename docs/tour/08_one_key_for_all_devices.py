"""Lesson 8: eight devices, one random number.

Every device gets the same key, so all of them drop the same units.
Folding in the device index gives each device its own stream.
"""

from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def dropout(key, x):
    keep = jax.random.bernoulli(key, 0.9, x.shape)
    share = jax.lax.pmean(keep.mean(), "batch")
    return jnp.where(keep, x / share, 0.0)


print(dropout(jax.random.key(0), jnp.ones((8, 4, 16)))[:, 0, :4])
