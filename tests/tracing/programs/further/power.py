"""Power iteration on a matrix that is split by rows, in a fori_loop."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(rows=8)

    @jax.jit
    def largest(a, v):
        def body(i, v):
            w = a @ v
            w = a.T @ w
            return w / jnp.linalg.norm(w)

        v = jax.lax.fori_loop(0, 10, body, v)
        return jnp.linalg.norm(a @ v), v

    return largest, (abstract(mesh, P("rows"), 1024, 512), abstract(mesh, P(), 512))
