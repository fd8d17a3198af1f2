"""A pipeline over stages with ppermute and rematerialization, beside a data axis."""

import functools

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax import lax
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, stage=4)
    n, micro = 4, 8

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(P("stage"), P(None, "data")), out_specs=P(None, "data"))
    def pipeline(w, xs):
        w = w[0]
        me = lax.axis_index("stage")
        run = jax.checkpoint(lambda x: jnp.tanh(x @ w))

        def tick(carry, t):
            buf, outs = carry
            x = jnp.where(me == 0, xs[jnp.minimum(t, micro - 1)], buf)
            y = run(x)
            outs = lax.dynamic_update_index_in_dim(outs, jnp.where(t >= n - 1, y, 0.0), jnp.maximum(t - n + 1, 0), 0)
            buf = lax.ppermute(y, "stage", [(i, i + 1) for i in range(n - 1)])
            return (buf, outs), None

        zero = lax.pcast(jnp.zeros_like(xs[0]), ("stage",), to="varying")
        outs = lax.pcast(jnp.zeros_like(xs), ("stage",), to="varying")
        (_, outs), _ = lax.scan(tick, (zero, outs), jnp.arange(micro + n - 1))
        return lax.psum(jnp.where(me == n - 1, outs, 0.0), "stage")

    @jax.jit
    def step(w, xs):
        return jax.value_and_grad(lambda w: jnp.mean(pipeline(w, xs) ** 2))(w)

    return step, (abstract(mesh, P("stage"), 4, 128, 128), abstract(mesh, P(None, "data"), micro, 16, 128))
