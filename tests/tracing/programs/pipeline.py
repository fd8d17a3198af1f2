"""A pipeline: each device has one stage, and microbatches go from one to the next."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

BATCHES, ROWS, D = 12, 16, 256


def run(mesh):
    stages = mesh.shape["stage"]

    def through(w, x):
        here = jax.lax.axis_index("stage")

        def tick(carry, t):
            state, outputs = carry
            state = jnp.where(here == 0, x[jnp.minimum(t, BATCHES - 1)], state)
            state = jnp.tanh(state @ w[0])
            done = jnp.clip(t - stages + 1, 0, BATCHES - 1)
            outputs = outputs.at[done].set(jnp.where(here == stages - 1, state, outputs[done]))
            state = jax.lax.ppermute(state, "stage", [(i, (i + 1) % stages) for i in range(stages)])
            return (state, outputs), None

        start = jnp.zeros((ROWS, D)) + w[0, 0, 0] * 0, x * 0 + w[0, 0, 0] * 0
        (_, outputs), _ = jax.lax.scan(tick, start, jnp.arange(BATCHES + stages - 1))
        return jax.lax.psum(jnp.where(here == stages - 1, outputs, 0), "stage")

    return shard_map(through, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())


def entry():
    mesh = Mesh(np.array(jax.devices()), ("stage",))
    w = jax.ShapeDtypeStruct((mesh.shape["stage"], D, D), jnp.float32, sharding=NamedSharding(mesh, P("stage")))
    x = jax.ShapeDtypeStruct((BATCHES, ROWS, D), jnp.float32, sharding=NamedSharding(mesh, P()))
    forward = run(mesh)
    return jax.jit(jax.grad(lambda w, x: jnp.mean(forward(w, x) ** 2))), (w, x)
