"""A mixture of experts by einsums with capacity, in which constraints move tokens to their experts."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, expert=4)

    def c(x, *spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def moe(x, router, w1, w2):
        probs = jax.nn.softmax(x @ router)
        gate, index = jax.lax.top_k(probs, 1)
        onehot = jax.nn.one_hot(index[..., 0], 4)
        pos = jnp.cumsum(onehot, 1) * onehot
        cap = 32
        dispatch = onehot[..., None] * jax.nn.one_hot((pos - 1).astype(jnp.int32), cap)
        xe = c(jnp.einsum("bsec,bsd->ebcd", dispatch, x), "expert", "data")
        h = c(jax.nn.gelu(jnp.einsum("ebcd,edf->ebcf", xe, w1)), "expert", "data")
        ye = c(jnp.einsum("ebcf,efd->ebcd", h, w2), "expert", "data")
        out = jnp.einsum("ebcd,bsec->bsd", ye, dispatch * gate[..., None])
        return c(x + out, "data")

    def step(ws, x):
        return jax.value_and_grad(lambda ws: jnp.mean(moe(x, *ws) ** 2))(ws)

    ws = (
        abstract(mesh, P(), 128, 4),
        abstract(mesh, P("expert"), 4, 128, 512),
        abstract(mesh, P("expert"), 4, 512, 128),
    )
    return jax.jit(step), (ws, abstract(mesh, P("data"), 8, 64, 128))
