"""Tensor parallelism: one attention block with heads and features sharded, forward and backward."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, HEADS, HIDDEN = 512, 8, 2048


def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def block(p, x):
    h = norm(x, p["norm1"])
    q = jnp.einsum("bsd,dhk->bshk", h, p["q"])
    k = jnp.einsum("bsd,dhk->bshk", h, p["k"])
    v = jnp.einsum("bsd,dhk->bshk", h, p["v"])
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k) / np.sqrt(D // HEADS)
    weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    x = x + jnp.einsum("bqhk,hkd->bqd", mixed, p["o"])
    h = norm(x, p["norm2"])
    return x + jax.nn.gelu(h @ p["up"]) @ p["down"]


def loss(params, x):
    for p in params:
        x = block(p, x)
    return jnp.mean(x.astype(jnp.float32) ** 2)


SPECS = {
    "q": P(None, "model"),
    "k": P(None, "model"),
    "v": P(None, "model"),
    "o": P("model"),
    "up": P(None, "model"),
    "down": P("model"),
    "norm1": P(),
    "norm2": P(),
}
SHAPES = {
    "q": (D, HEADS, D // HEADS),
    "k": (D, HEADS, D // HEADS),
    "v": (D, HEADS, D // HEADS),
    "o": (HEADS, D // HEADS, D),
    "up": (D, HIDDEN),
    "down": (HIDDEN, D),
    "norm1": (D,),
    "norm2": (D,),
}


def abstract(mesh, layers=2):
    return [
        {
            name: jax.ShapeDtypeStruct(SHAPES[name], jnp.bfloat16, sharding=NamedSharding(mesh, SPECS[name]))
            for name in SHAPES
        }
        for _ in range(layers)
    ]


def entry():
    mesh = Mesh(np.array(jax.devices()), ("model",))
    params = abstract(mesh)
    x = jax.ShapeDtypeStruct((8, 128, D), jnp.bfloat16, sharding=NamedSharding(mesh, P()))
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params)
    return jax.jit(jax.grad(loss), out_shardings=shardings), (params, x)


def two_axes():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))
    params = abstract(mesh)
    x = jax.ShapeDtypeStruct((8, 128, D), jnp.bfloat16, sharding=NamedSharding(mesh, P("data")))
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params)
    return jax.jit(jax.grad(loss), out_shardings=shardings), (params, x)
