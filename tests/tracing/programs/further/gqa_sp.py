"""Grouped queries with sequence parallelism in bfloat16."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, tp=4)

    def c(x, *spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def norm(x):
        return x * jax.lax.rsqrt(jnp.mean(x.astype(jnp.float32) ** 2, -1, keepdims=True) + 1e-6).astype(x.dtype)

    def layer(x, w):
        h = c(norm(x), "data", None, None)
        q = jnp.einsum("bsd,dgnh->bsgnh", h, w["q"])
        k = jnp.einsum("bsd,dgh->bsgh", h, w["k"])
        v = jnp.einsum("bsd,dgh->bsgh", h, w["v"])
        p = jax.nn.softmax(jnp.einsum("bqgnh,bkgh->bgnqk", q, k).astype(jnp.float32) / 8).astype(x.dtype)
        o = jnp.einsum("bgnqk,bkgh->bqgnh", p, v)
        x = x + c(jnp.einsum("bqgnh,gnhd->bqd", o, w["o"]), "data", "tp", None)
        h = c(norm(x), "data", None, None)
        return x + c(jax.nn.gelu(h @ w["up"]) @ w["down"], "data", "tp", None)

    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return jnp.mean(x.astype(jnp.float32) ** 2)

    bf = {"dtype": jnp.bfloat16}
    ws = [
        {
            "q": abstract(mesh, P(None, "tp"), 256, 4, 2, 64, **bf),
            "k": abstract(mesh, P(None, "tp"), 256, 4, 64, **bf),
            "v": abstract(mesh, P(None, "tp"), 256, 4, 64, **bf),
            "o": abstract(mesh, P("tp"), 4, 2, 64, 256, **bf),
            "up": abstract(mesh, P(None, "tp"), 256, 1024, **bf),
            "down": abstract(mesh, P("tp"), 1024, 256, **bf),
        }
        for _ in range(2)
    ]
    return jax.jit(jax.grad(loss)), (ws, abstract(mesh, P("data", "tp"), 4, 128, 256, **bf))
