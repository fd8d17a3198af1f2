"""FSDP with explicit axes: each weight is resharded where it is used."""

import jax
import jax.numpy as jnp
from common import abstract
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P


def entry():
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
    jax.set_mesh(mesh)

    def loss(ws, x):
        for w in ws:
            x = jnp.tanh(x @ jax.sharding.reshard(w, P()))
        return jnp.mean(x**2)

    def step(ws, x):
        value, g = jax.value_and_grad(loss)(ws, x)
        return jax.tree.map(lambda w, d: w - 0.1 * d, ws, g), value

    ws = [abstract(mesh, P("x", None), 256, 256) for _ in range(4)]
    return jax.jit(step), (ws, abstract(mesh, P("x", None), 64, 256))
