import functools

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from .model import nll
from .sharding import batch_sharding, param_shardings


def train_step(params, tokens, weights, cfg):
    def micro(carry, part):
        (loss, count), grads = jax.value_and_grad(nll, has_aux=True)(params, cfg, *part)
        return jax.tree.map(jnp.add, carry, (loss, count, grads)), None

    parts = jax.tree.map(lambda a: a.reshape(cfg.accumulate, -1, a.shape[-1]), (tokens, weights))
    zeros = (jnp.zeros(()), jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
    (loss, count, grads), _ = jax.lax.scan(micro, zeros, parts)
    return jax.tree.map(lambda p, g: p - cfg.lr * g / count, params, grads), loss / count


def compiled_step(mesh, cfg):
    params, batch, scalar = param_shardings(mesh), batch_sharding(mesh), NamedSharding(mesh, P())
    return jax.jit(
        functools.partial(train_step, cfg=cfg),
        in_shardings=(params, batch, batch),
        out_shardings=(params, scalar),
        donate_argnums=(0,),
    )
