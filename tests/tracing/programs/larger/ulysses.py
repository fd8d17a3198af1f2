"""Attention with all_to_all between sequence and heads, in a shard_map over data and sequence, with remat."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, H, B, T = 1024, 16, 4, 2048


def make(mesh):
    spec = P("data", "seq")

    @partial(jax.shard_map, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)
    def attention(q, k, v):
        q, k, v = (lax.all_to_all(x, "seq", 2, 1, tiled=True) for x in (q, k, v))
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / 8
        o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s).astype(q.dtype), v)
        return lax.all_to_all(o, "seq", 1, 2, tiled=True)

    @jax.checkpoint
    def block(p, x):
        w = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
        h = x.astype(jnp.bfloat16)
        q, k, v = ((h @ w[n]).reshape(B, T, H, -1) for n in "qkv")
        return x + (attention(q, k, v).reshape(B, T, D) @ w["o"]).astype(jnp.float32)

    def loss(ps, x, y):
        for p in ps:
            x = block(p, x)
        return ((x - y) ** 2).mean()

    @jax.jit
    def step(ps, x, y):
        v, g = jax.value_and_grad(loss)(ps, x, y)
        return v, jax.tree.map(lambda p, g: p - 0.1 * g, ps, g)

    return step


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "seq"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    p = [{n: f((D, D)) for n in "qkvo"} for _ in range(2)]
    x = f((B, T, D), "data", "seq")
    return make(mesh), (p, x, x)
