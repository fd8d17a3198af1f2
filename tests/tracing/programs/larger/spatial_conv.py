"""Convolutions over images whose rows are sharded (halos), batch over data, pooling, gradients."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def conv(x, w, s=1):
    return lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@jax.jit
def step(p, x, y):
    def loss(p):
        h = x
        for i, w in enumerate(p["convs"]):
            h = jax.nn.relu(conv(h, w, 2 if i == 1 else 1))
        return jnp.mean((conv(h, p["out"]) - y) ** 2)

    v, g = jax.value_and_grad(loss)(p)
    return v, jax.tree.map(lambda p, g: p - 0.1 * g, p, g)


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "rows"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    p = {"convs": [f((3, 3, 3, 64)), f((3, 3, 64, 128)), f((5, 5, 128, 128))], "out": f((1, 1, 128, 8))}
    return step, (p, f((16, 256, 256, 3), "data", "rows"), f((16, 128, 128, 8), "data", "rows"))
