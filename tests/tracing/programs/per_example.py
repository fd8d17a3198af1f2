"""vmap with spmd_axis_name: an ensemble whose members are spread over an axis, trained in one step."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(4, -1), ("member", "data"))

    def predict(w, x):
        h = jax.lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("data")))
        return h.sum(-1)

    def loss(ws, x):
        return jnp.mean(jax.vmap(predict, in_axes=(0, None), spmd_axis_name="member")(ws, x) ** 2)

    def step(ws, x):
        return ws - 0.1 * jax.grad(loss)(ws, x)

    ws = jax.ShapeDtypeStruct((8, 512, 512), jnp.float32, sharding=NamedSharding(mesh, P("member")))
    x = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return jax.jit(step), (ws, x)
