"""FSDP by hand in a shard_map: weights gathered in each step of a scan with rematerialization."""

import functools

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax import lax
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(fsdp=8)

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P(None, "fsdp"), P("fsdp"), P("fsdp")), out_specs=(P(None, "fsdp"), P())
    )
    def step(ws, x, y):
        @jax.checkpoint
        def layer(h, shard):
            w = lax.all_gather(shard, "fsdp", tiled=True)
            return jax.nn.gelu(h @ w), None

        def loss(ws):
            h, _ = lax.scan(layer, x, ws)
            return jnp.mean((h - y) ** 2)

        value, grads = jax.value_and_grad(loss)(ws)
        return ws - 0.1 * grads / 8, lax.pmean(value, "fsdp")

    return step, (
        abstract(mesh, P(None, "fsdp"), 5, 256, 256),
        abstract(mesh, P("fsdp"), 64, 256),
        abstract(mesh, P("fsdp"), 64, 256),
    )
