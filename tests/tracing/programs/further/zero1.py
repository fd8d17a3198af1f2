"""ZeRO-1: replicated parameters, AdamW's state and the update split over the devices."""

import jax
import jax.numpy as jnp
import optax
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss_fn(params, x, y):
    for w in params["layers"]:
        x = jax.nn.relu(x @ w)
    return jnp.mean((x @ params["head"] - y) ** 2)


def entry():
    mesh = mesh_of(data=8)
    tx = optax.adamw(1e-3)
    shard = NamedSharding(mesh, P("data"))
    full = NamedSharding(mesh, P())

    def step(params, opt, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        grads = jax.lax.with_sharding_constraint(grads, shard)
        mine = jax.lax.with_sharding_constraint(params, shard)
        updates, opt = tx.update(grads, opt, mine)
        updates = jax.lax.with_sharding_constraint(updates, shard)
        params = optax.apply_updates(mine, updates)
        return jax.lax.with_sharding_constraint(params, full), opt, loss

    params = {"layers": [abstract(mesh, P(), 256, 256) for _ in range(3)], "head": abstract(mesh, P(), 256, 16)}
    opt = jax.eval_shape(tx.init, params)
    opt = jax.tree.map(lambda a: abstract(mesh, P("data") if a.ndim else P(), *a.shape, dtype=a.dtype), opt)
    return jax.jit(step), (params, opt, abstract(mesh, P("data"), 64, 256), abstract(mesh, P("data"), 64, 16))
