"""Products split over both axes of a mesh, with constraints on the activations."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(x=2, y=4)

    def block(h, w1, w2):
        a = jnp.einsum("bsd,df->bsf", h, w1)
        a = jax.lax.with_sharding_constraint(jax.nn.gelu(a), NamedSharding(mesh, P("x", None, "y")))
        o = jnp.einsum("bsf,fd->bsd", a, w2)
        return jax.lax.with_sharding_constraint(h + o, NamedSharding(mesh, P("x", None, "y")))

    def forward(h, ws):
        for w1, w2 in ws:
            h = block(h, w1, w2)
        return h

    def step(ws, h):
        return jax.grad(lambda ws: jnp.mean(forward(h, ws) ** 2))(ws)

    ws = [(abstract(mesh, P("x", "y"), 512, 2048), abstract(mesh, P("y", "x"), 2048, 512)) for _ in range(2)]
    return jax.jit(step), (ws, abstract(mesh, P("x", None, "y"), 8, 64, 512))
