"""Trainings from many seeds under vmap, split over the devices."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(seed=8)

    def train(key, lr):
        w = jax.random.normal(key, (16, 1))
        x = jax.random.normal(jax.random.fold_in(key, 1), (128, 16))
        y = x.sum(1, keepdims=True)

        def step(w, _):
            value, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
            return w - lr * g, value

        w, losses = jax.lax.scan(step, w, length=20)
        return losses[-1]

    @jax.jit
    def run(keys, lr):
        final = jax.vmap(train, in_axes=(0, None))(keys, lr)
        return final.mean(), final.std(), jnp.argmin(final)

    raw = abstract(mesh, P("seed"), 64, 2, dtype=jnp.uint32)
    return jax.jit(lambda raw, lr: run(jax.random.wrap_key_data(raw), lr)), (raw, abstract(mesh, P()))
