"""Tied embeddings split over their features, remat in a scan: XLA splits the residual stream again."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=4, model=2)

    @jax.jit
    def step(emb, blocks, tokens):
        def loss(emb, blocks):
            h = emb[tokens[:, :-1]]
            h = jax.lax.with_sharding_constraint(h, NamedSharding(mesh, P("data")))

            @jax.remat
            def block(h, w):
                a = jax.nn.silu(h @ w["up"])
                return h + a @ w["down"], None

            h, _ = jax.lax.scan(block, h, blocks)
            logits = h @ emb.T
            logp = jax.nn.log_softmax(logits.astype(jnp.float32))
            return -jnp.mean(jnp.take_along_axis(logp, tokens[:, 1:, None], -1))

        return jax.grad(loss, argnums=(0, 1))(emb, blocks)

    blocks = {
        "up": abstract(mesh, P(None, None, "model"), 4, 128, 512),
        "down": abstract(mesh, P(None, "model"), 4, 512, 128),
    }
    return step, (
        abstract(mesh, P(None, "model"), 2048, 128),
        blocks,
        abstract(mesh, P("data"), 16, 65, dtype=jnp.int32),
    )
