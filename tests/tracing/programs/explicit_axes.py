"""Explicit axes: shardings are part of the types."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


def loss(params, x):
    h = jnp.dot(x, params["up"], out_sharding=P("data", "model"))
    h = jax.nn.relu(h)
    y = jnp.dot(h, params["down"], out_sharding=P("data", None))
    return jnp.mean(y**2)


def entry():
    mesh = jax.make_mesh(
        (2, jax.device_count() // 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2, devices=jax.devices()
    )
    jax.set_mesh(mesh)

    def of(spec, *shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    params = {"up": of(P(None, "model"), 512, 1024), "down": of(P("model", None), 1024, 512)}
    return jax.jit(jax.grad(loss)), (params, of(P("data", None), 128, 512))
