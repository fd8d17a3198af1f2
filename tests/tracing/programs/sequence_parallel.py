"""Sequence parallelism: activations lie along the sequence between blocks, and along features inside of them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))

    def at(x, *spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def block(x, p):
        x = at(x, "data", "model", None)
        h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
        h = at(h, "data", None, None)
        h = jax.nn.gelu(at(h @ p["up"], "data", None, "model"))
        return x + at(h @ p["down"], "data", "model", None)

    def loss(params, x):
        for p in params:
            x = block(x, p)
        return jnp.mean(x.astype(jnp.float32) ** 2)

    def of(spec, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec))

    params = [{"up": of(P(None, "model"), 512, 2048), "down": of(P("model"), 2048, 512)} for _ in range(3)]
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params)
    return jax.jit(jax.grad(loss), out_shardings=shardings), (params, of(P("data", "model"), 16, 256, 512))
