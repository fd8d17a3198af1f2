"""shard_map over one axis of two: the other is left to XLA."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))

    def of(spec, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    def loss(w, v, x):
        return jnp.mean((jax.nn.relu(x @ w) @ v) ** 2)

    def local(w, v, x):
        value, grads = jax.value_and_grad(loss, argnums=(0, 1))(w, v, x)
        return jax.lax.pmean(value, "data"), jax.lax.pmean(grads, "data")

    run = jax.shard_map(
        local, mesh=mesh, in_specs=(P(), P(), P("data")), out_specs=P(), axis_names={"data"}, check_vma=False
    )
    return jax.jit(run), (
        of(P(None, "model"), 256, 1024),
        of(P("model"), 1024, 256),
        of(P("data"), 128, 256),
    )
