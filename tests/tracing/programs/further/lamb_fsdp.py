"""LAMB after clipping by the global norm, on parameters that are split over the devices."""

import jax
import jax.numpy as jnp
import optax
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(fsdp=8)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.lamb(1e-3))

    def loss(params, x, y):
        for w, b in params:
            x = jax.nn.relu(x @ w + b)
        return jnp.mean((x - y) ** 2)

    def step(params, state, x, y):
        grads = jax.grad(loss)(params, x, y)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    params = [(abstract(mesh, P("fsdp"), 256, 256), abstract(mesh, P("fsdp"), 256)) for _ in range(3)]
    state = optax.tree_map_params(tx, lambda leaf, like: like, jax.eval_shape(tx.init, params), params)
    sh = jax.tree.map(lambda a: a.sharding, params)
    return jax.jit(step, out_shardings=(sh, None)), (
        params,
        state,
        abstract(mesh, P("fsdp"), 64, 256),
        abstract(mesh, P("fsdp"), 64, 256),
    )
