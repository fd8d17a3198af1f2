"""Lesson 4: one spec for each argument.

The bias was added later, but the specs stayed the same. JAX reports that at the first call, in terms
of pytree prefixes; MeshLens reports it at the specs.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("rows",))


def affine(x, kernel, bias):
    return x @ kernel + bias


parallel_affine = jax.shard_map(affine, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))

x = jnp.ones((64, 32))
kernel, bias = jnp.ones((32, 16)), jnp.zeros(16)
print(parallel_affine(x, kernel, bias).shape)
