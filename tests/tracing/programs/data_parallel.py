"""Data parallelism: the batch is sharded, the parameters are replicated."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return jnp.mean((x @ w + b - y) ** 2)


def step(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    sizes = [256, 1024, 1024, 64]
    params = [
        (
            jax.ShapeDtypeStruct((a, b), jnp.float32, sharding=whole),
            jax.ShapeDtypeStruct((b,), jnp.float32, sharding=whole),
        )
        for a, b in itertools.pairwise(sizes)
    ]
    x = jax.ShapeDtypeStruct((512, 256), jnp.float32, sharding=rows)
    y = jax.ShapeDtypeStruct((512, 64), jnp.float32, sharding=rows)
    return jax.jit(step), (params, x, y)
