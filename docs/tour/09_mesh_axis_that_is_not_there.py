"""Lesson 9: a spec names the axes of its mesh.

The mesh has the axes "data" and "model". One spec has a typo, and the error comes from deep inside `device_put`.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
kernel = jax.device_put(jnp.ones((128, 256)), NamedSharding(mesh, P(None, "modle")))


@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P(None, "model")), out_specs=P("data", "model"))
def project(x, kernel):
    return x @ kernel


print(project(jnp.ones((64, 128)), kernel).sharding)
