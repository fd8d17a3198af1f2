"""A mixture of experts: tokens go to their experts and back by all_to_all in shard_map, or as XLA sees fit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

D, HIDDEN, CAPACITY = 128, 512, 32


def by_hand(mesh, x, router, up, down):
    experts = mesh.shape["expert"]

    def moved(x, router, up, down):
        scores = jax.nn.softmax(x @ router)
        best = jnp.argmax(scores, -1)
        chosen = jax.nn.one_hot(best, experts, dtype=x.dtype)
        rank = (jnp.cumsum(chosen, 0) * chosen).astype(jnp.int32) - 1
        slot = jax.nn.one_hot(jnp.max(rank, -1), CAPACITY, dtype=x.dtype)
        sent = jnp.einsum("te,tc,td->ecd", chosen, slot, x)
        here = jax.lax.all_to_all(sent, "expert", split_axis=0, concat_axis=0, tiled=True)
        h = jax.nn.gelu(here.reshape(-1, D) @ up[0]) @ down[0]
        back = jax.lax.all_to_all(h.reshape(here.shape), "expert", split_axis=0, concat_axis=0, tiled=True)
        return jnp.einsum("ecd,te,tc->td", back, chosen, slot)

    cut = P("expert")
    return shard_map(moved, mesh=mesh, in_specs=(cut, P(), cut, cut), out_specs=cut)(x, router, up, down)


def abstract(mesh):
    experts = mesh.shape["expert"]

    def of(spec, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    cut = P("expert")
    return (
        of(cut, 64 * experts, D),
        of(P(), D, experts),
        of(cut, experts, D, HIDDEN),
        of(cut, experts, HIDDEN, D),
    )


def entry():
    mesh = Mesh(np.array(jax.devices()), ("expert",))
    run = functools.partial(by_hand, mesh)
    return jax.jit(jax.grad(lambda *args: jnp.sum(run(*args) ** 2), argnums=(1, 2, 3))), abstract(mesh)


def dense(x, router, up, down):
    scores = jax.nn.softmax(x @ router)
    best = jax.nn.one_hot(jnp.argmax(scores, -1), router.shape[1], dtype=x.dtype)
    sent = jnp.einsum("te,td->etd", best, x)
    h = jnp.einsum("etd,edf->etf", sent, up)
    out = jnp.einsum("etf,efd->etd", jax.nn.gelu(h), down)
    return jnp.sum(jnp.einsum("etd,te->td", out, best) ** 2)


def automatic():
    mesh = Mesh(np.array(jax.devices()), ("expert",))
    return jax.jit(jax.grad(dense, argnums=(2, 3))), abstract(mesh)
