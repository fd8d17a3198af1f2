"""A mixture of experts by hand: the two best experts of each token, sorted into buffers, two all_to_all."""

import functools

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(expert=8)

    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P("expert"), P(), P("expert"), P("expert")), out_specs=P("expert")
    )
    def moe(x, router, w1, w2):
        t, d = x.shape
        gates, index = jax.lax.top_k(jax.nn.softmax(x @ router), 2)
        flat = index.reshape(-1)
        order = jnp.argsort(flat)
        token = order // 2
        capacity = 2 * t // 8 * 2
        buf = jnp.zeros((8, capacity, d), x.dtype)
        start = jnp.searchsorted(flat[order], jnp.arange(8))
        place = jnp.arange(2 * t) - start[flat[order]]
        buf = buf.at[flat[order], place].set(x[token], mode="drop")
        got = jax.lax.all_to_all(buf, "expert", 0, 1, tiled=True)
        h = jax.nn.silu(jnp.einsum("ecd,edf->ecf", got, w1))
        out = jnp.einsum("ecf,efd->ecd", h, w2)
        back = jax.lax.all_to_all(out, "expert", 1, 0, tiled=True)
        y = back.at[flat[order], place].get(mode="fill", fill_value=0)
        return jnp.zeros_like(x).at[token].add(y * gates.reshape(-1)[order][:, None])

    @jax.jit
    def step(x, router, w1, w2):
        return jax.grad(lambda *a: jnp.sum(moe(x, *a) ** 2), argnums=(0, 1, 2))(router, w1, w2)

    return step, (
        abstract(mesh, P("expert"), 512, 128),
        abstract(mesh, P(), 128, 8),
        abstract(mesh, P("expert"), 8, 128, 256),
        abstract(mesh, P("expert"), 8, 256, 128),
    )
