"""Attention over a split sequence: keys and values are gathered by a constraint."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, ctx=4)

    def attend(x, wqkv, wo):
        q, k, v = jnp.split(jnp.einsum("bsd,dnh->bsnh", x, wqkv), 3, axis=-1)
        full = NamedSharding(mesh, P("data"))
        k, v = jax.lax.with_sharding_constraint(k, full), jax.lax.with_sharding_constraint(v, full)
        s = jnp.einsum("bqnh,bknh->bnqk", q, k) / 8.0
        mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
        p = jax.nn.softmax(jnp.where(mask, s, -1e9))
        return jnp.einsum("bqnh,nhd->bqd", jnp.einsum("bnqk,bknh->bqnh", p, v), wo)

    @jax.jit
    def step(wqkv, wo, x):
        return jax.grad(lambda a, b: jnp.mean(attend(x, a, b) ** 2), argnums=(0, 1))(wqkv, wo)

    return step, (
        abstract(mesh, P(), 256, 4, 192),
        abstract(mesh, P(), 4, 64, 256),
        abstract(mesh, P("data", "ctx"), 4, 256, 256),
    )
