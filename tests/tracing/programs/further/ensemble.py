"""Members of an ensemble over one axis by vmap with spmd_axis_name, their batch over the other."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(member=4, data=2)

    def apply(w1, w2, x):
        h = jax.lax.with_sharding_constraint(jax.nn.relu(x @ w1), NamedSharding(mesh, P("data")))
        return h @ w2

    def loss(ws, x, y):
        pred = jax.vmap(apply, in_axes=(0, 0, None), spmd_axis_name="member")(*ws, x)
        return jnp.mean((pred - y) ** 2) + 0.1 * jnp.mean(jnp.var(pred, 0))

    ws = (abstract(mesh, P("member"), 8, 64, 128), abstract(mesh, P("member"), 8, 128, 4))
    return jax.jit(jax.grad(loss)), (ws, abstract(mesh, P("data"), 64, 64), abstract(mesh, P("data"), 64, 4))
