"""An LSTM of flax.linen over a split batch: its weights' gradients add up in the backward loop, cut into gates."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


class Tagger(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(500, 64)(tokens)
        x = nn.RNN(nn.OptimizedLSTMCell(128))(x)
        x = nn.LayerNorm()(x)
        return nn.Dense(20)(x)


def entry():
    mesh = mesh_of(data=8)
    net = Tagger()

    def loss(params, tokens, tags):
        logp = jax.nn.log_softmax(net.apply(params, tokens))
        mask = tags >= 0
        nll = -jnp.take_along_axis(logp, jnp.maximum(tags, 0)[..., None], -1)[..., 0]
        return jnp.sum(nll * mask) / jnp.maximum(mask.sum(), 1)

    params = jax.eval_shape(net.init, jax.random.key(0), jnp.zeros((16, 12), jnp.int32))
    params = jax.tree.map(lambda a: abstract(mesh, P(), *a.shape, dtype=a.dtype), params)
    return jax.jit(jax.value_and_grad(loss)), (
        params,
        abstract(mesh, P("data"), 16, 12, dtype=jnp.int32),
        abstract(mesh, P("data"), 16, 12, dtype=jnp.int32),
    )
