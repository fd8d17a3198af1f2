"""ZeRO by hand: a psum_scatter of flat gradients, momentum on each device's part, an all_gather."""

import functools

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax import lax
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(dp=8)

    def flat(t):
        return jnp.concatenate([a.reshape(-1) for a in jax.tree.leaves(t)])

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P("dp"), P("dp"), P("dp")), out_specs=(P(), P("dp")), check_vma=False
    )
    def step(params, mom, x, y):
        g = jax.grad(lambda p: jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2))(params)
        mine = lax.psum_scatter(flat(g), "dp", tiled=True) / 8
        mom = 0.9 * mom + mine
        whole = lax.all_gather(mom, "dp", tiled=True)
        a = whole[: 256 * 512].reshape(256, 512)
        b = whole[256 * 512 :].reshape(512, 64)
        return {"a": params["a"] - 0.1 * a, "b": params["b"] - 0.1 * b}, mom

    n = 256 * 512 + 512 * 64
    return step, (
        {"a": abstract(mesh, P(), 256, 512), "b": abstract(mesh, P(), 512, 64)},
        abstract(mesh, P("dp"), n),
        abstract(mesh, P("dp"), 64, 256),
        abstract(mesh, P("dp"), 64, 64),
    )
