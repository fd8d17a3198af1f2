"""A contrastive loss between all images and texts of a split batch."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=8)

    def loss(params, images, texts):
        a = jnp.tanh(images @ params["i"])
        b = jnp.tanh(texts @ params["t"])
        a = a / jnp.linalg.norm(a, axis=-1, keepdims=True)
        b = b / jnp.linalg.norm(b, axis=-1, keepdims=True)
        logits = jnp.exp(params["s"]) * a @ b.T
        labels = jnp.arange(logits.shape[0])

        def entropy(logits):
            return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))

        return 0.5 * (entropy(logits) + entropy(logits.T))

    params = {"i": abstract(mesh, P(), 512, 128), "t": abstract(mesh, P(), 256, 128), "s": abstract(mesh, P())}
    return jax.jit(jax.value_and_grad(loss)), (
        params,
        abstract(mesh, P("data"), 128, 512),
        abstract(mesh, P("data"), 128, 256),
    )
