"""Embedding tables split by rows, interactions of features over a split batch."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, model=4)

    @jax.jit
    def step(tables, dense, ids, feats, label):
        def loss(tables, dense):
            e = [t[ids[:, i]] for i, t in enumerate(tables)]
            bottom = jax.nn.relu(feats @ dense["bottom"])
            z = jnp.stack([bottom, *e], 1)
            inter = jnp.einsum("bid,bjd->bij", z, z).reshape(z.shape[0], -1)
            logit = (jnp.concatenate([bottom, inter], 1) @ dense["top"])[:, 0]
            return jnp.mean(jnp.logaddexp(0.0, logit) - label * logit)

        value, g = jax.value_and_grad(loss, argnums=(0, 1))(tables, dense)
        return jax.tree.map(lambda p, g: p - 0.1 * g, (tables, dense), g), value

    tables = [abstract(mesh, P("model"), 4096, 32) for _ in range(3)]
    dense = {"bottom": abstract(mesh, P(), 16, 32), "top": abstract(mesh, P(), 48, 1)}
    return step, (
        tables,
        dense,
        abstract(mesh, P("data"), 64, 3, dtype=jnp.int32),
        abstract(mesh, P("data"), 64, 16),
        abstract(mesh, P("data"), 64),
    )
