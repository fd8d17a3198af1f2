"""Convolutions over images that are split by rows."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, h=4)

    def conv(x, w, stride=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(ws, x, y):
        h = jax.nn.relu(conv(x, ws[0]))
        h = jax.nn.relu(conv(h, ws[1], 2))
        h = conv(h, ws[2])
        return jnp.mean((h.mean((1, 2)) - y) ** 2)

    ws = [abstract(mesh, P(), 3, 3, 3, 16), abstract(mesh, P(), 3, 3, 16, 32), abstract(mesh, P(), 3, 3, 32, 8)]
    return jax.jit(jax.grad(loss)), (ws, abstract(mesh, P("data", "h"), 4, 64, 64, 3), abstract(mesh, P("data"), 4, 8))
