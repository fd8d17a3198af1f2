"""Lesson 12: what a step moves between devices.

A transformer block is sharded over "data" and "model".  It is correct, and MeshLens finds nothing; but the constraint in
its MLP does not split the hidden activations over "model", so in every step XLA gathers the weights over that axis, and
each device computes all columns of the product.

Click *Trace on 4x2* above `entry` below, or run `meshlens cost 12_a_hidden_all_gather.py::entry --devices 4x2`: the line
with the all-gather comes first.  Change the constraint in `mlp` to `P("data", None, "model")` and trace again: the
all-gather is gone.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

WIDTH, HIDDEN, HEADS = 512, 2048, 8
mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))


def sharded(x, *spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def attention(params, x):
    q, k, v = (jnp.einsum("bsd,dhe->bshe", x, params[name]) for name in ("q", "k", "v"))
    weights = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) / jnp.sqrt(q.shape[-1]))
    return jnp.einsum("bhqk,bkhe,hed->bqd", weights, v, params["o"])


def mlp(params, x):
    hidden = sharded(x @ params["in"], "data")
    return jax.nn.gelu(hidden) @ params["out"]


def loss(params, x):
    x = x + sharded(attention(params, x), "data")
    x = x + sharded(mlp(params, x), "data")
    return jnp.mean(x * x)


@jax.jit
def train_step(params, x):
    value, grads = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value


def entry():
    def array(*shape, spec):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    heads = P(None, "model", None)
    params = {name: array(WIDTH, HEADS, WIDTH // HEADS, spec=heads) for name in ("q", "k", "v")}
    params["o"] = array(HEADS, WIDTH // HEADS, WIDTH, spec=P("model", None, None))
    params["in"] = array(WIDTH, HIDDEN, spec=P(None, "model"))
    params["out"] = array(HIDDEN, WIDTH, spec=P("model", None))
    return train_step, (params, array(32, 128, WIDTH, spec=P("data")))
