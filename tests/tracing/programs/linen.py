"""flax.linen: a model whose layers are scanned, with logical names and optax."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Block(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x):
        h = nn.LayerNorm()(x)
        h = nn.Dense(self.hidden, use_bias=False)(h)
        h = nn.gelu(h)
        return x + nn.Dense(x.shape[-1], use_bias=False)(h)


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = Block(1024)(x)
        return nn.Dense(64)(x)


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))
    model, tx = Model(), optax.adam(1e-3)
    x = jax.ShapeDtypeStruct((64, 256), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    y = jax.ShapeDtypeStruct((64,), jnp.int32, sharding=NamedSharding(mesh, P("data")))
    params = jax.eval_shape(model.init, jax.random.key(0), x)

    def placed(path, leaf):
        spec = P()
        if leaf.ndim == 2 and leaf.shape[1] == 1024:
            spec = P(None, "model")
        elif leaf.ndim == 2 and leaf.shape[0] == 1024:
            spec = P("model", None)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    params = jax.tree_util.tree_map_with_path(placed, params)
    state = jax.tree_util.tree_map_with_path(placed, jax.eval_shape(tx.init, params))

    def step(params, state, x, y):
        def loss(params):
            logits = model.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return jax.jit(step, donate_argnums=(0, 1)), (params, state, x, y)
