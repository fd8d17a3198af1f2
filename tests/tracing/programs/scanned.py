"""A scan over stacked layers with their parameters sharded over two axes; rematerialized in a second entry."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

LAYERS, D, HIDDEN = 6, 256, 1024


def layer(x, p):
    h = jax.nn.silu(x @ p["gate"]) * (x @ p["up"])
    return x + h @ p["down"], None


def loss(params, x, remat):
    body = jax.checkpoint(layer) if remat else layer
    x, _ = jax.lax.scan(body, x, params)
    return jnp.mean(x.astype(jnp.float32) ** 2)


def step(params, x, remat):
    value, grads = jax.value_and_grad(loss)(params, x, remat)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def build(remat):
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("fsdp", "model"))

    def of(spec, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec))

    params = {
        "gate": of(P(None, "fsdp", "model"), LAYERS, D, HIDDEN),
        "up": of(P(None, "fsdp", "model"), LAYERS, D, HIDDEN),
        "down": of(P(None, "model", "fsdp"), LAYERS, HIDDEN, D),
    }
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params)
    jitted = jax.jit(functools.partial(step, remat=remat), out_shardings=(shardings, NamedSharding(mesh, P())))
    return jitted, (params, of(P("fsdp"), 64, 128, D))


def entry():
    return build(remat=False)


def rematerialized():
    return build(remat=True)
