"""Gradients are accumulated over microbatches in a scan; the sum over devices is needed once, after it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def loss(params, x):
    return jnp.mean((jnp.tanh(x @ params["w"]) @ params["v"]) ** 2)


def step(params, batches):
    def accumulate(total, x):
        grads = jax.grad(loss)(params, x)
        return jax.tree.map(jnp.add, total, grads), None

    total, _ = jax.lax.scan(accumulate, jax.tree.map(jnp.zeros_like, params), batches)
    return jax.tree.map(lambda p, g: p - 0.1 * g / batches.shape[0], params, total)


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole = NamedSharding(mesh, P())
    params = {
        "w": jax.ShapeDtypeStruct((512, 1024), jnp.float32, sharding=whole),
        "v": jax.ShapeDtypeStruct((1024, 512), jnp.float32, sharding=whole),
    }
    batches = jax.ShapeDtypeStruct((8, 128, 512), jnp.float32, sharding=NamedSharding(mesh, P(None, "data")))
    return jax.jit(step), (params, batches)
