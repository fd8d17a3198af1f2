"""Tensor parallelism with explicit axes and out_sharding."""

import jax
import jax.numpy as jnp
from common import abstract
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P


def entry():
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
    jax.set_mesh(mesh)

    def f(ws, x):
        for up, down in ws:
            h = jax.nn.gelu(jnp.einsum("bd,df->bf", x, up, out_sharding=P("data", "model")))
            x = x + jnp.einsum("bf,fd->bd", h, down, out_sharding=P("data", None))
        return jnp.mean(x**2)

    ws = [(abstract(mesh, P(None, "model"), 128, 512), abstract(mesh, P("model", None), 512, 128)) for _ in range(3)]
    return jax.jit(jax.value_and_grad(f)), (ws, abstract(mesh, P("data", None), 32, 128))
