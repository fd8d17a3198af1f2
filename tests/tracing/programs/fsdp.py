"""Fully sharded data parallelism: parameters and batch are sharded over the same axis."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def loss(params, x, y):
    h = x.astype(jnp.bfloat16)
    for w in params["layers"]:
        h = jax.nn.gelu(h @ w.astype(jnp.bfloat16))
    logits = (h @ params["out"].astype(jnp.bfloat16)).astype(jnp.float32)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * y, axis=-1))


def step(params, momentum, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum), momentum, value


def entry():
    mesh = Mesh(np.array(jax.devices()), ("fsdp",))
    cut = NamedSharding(mesh, P("fsdp"))

    def of(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=cut)

    params = {"layers": [of(512, 1024), of(1024, 1024), of(1024, 512)], "out": of(512, 256)}
    shardings = jax.tree.map(lambda _: cut, params)
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=(shardings, shardings, NamedSharding(mesh, P())))
    return jitted, (params, params, of(256, 512), of(256, 256))
