"""A vocabulary split over devices: embedding, normalization and cross-entropy over the model axis."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, model=4)

    def loss(emb, w, tokens, labels):
        h = jnp.take(emb, tokens, axis=0)
        h = h / jnp.sqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6)
        logits = h @ w
        logits = jax.lax.with_sharding_constraint(logits, NamedSharding(mesh, P("data", None, "model")))
        logp = jax.nn.log_softmax(logits, -1)
        picked = jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * logp, -1)
        return -jnp.mean(picked)

    def step(emb, w, tokens, labels):
        return jax.value_and_grad(loss, argnums=(0, 1))(emb, w, tokens, labels)

    return jax.jit(step), (
        abstract(mesh, P("model", None), 4096, 256),
        abstract(mesh, P(None, "model"), 256, 4096),
        abstract(mesh, P("data"), 8, 32, dtype=jnp.int32),
        abstract(mesh, P("data"), 8, 32, dtype=jnp.int32),
    )
