"""Adam whose moments live in shards: each device updates 1/n of the flat parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

AXIS = "dp"


class AdamState(NamedTuple):
    count: jax.Array
    mu: jax.Array
    nu: jax.Array


class ShardedAdam:
    def __init__(self, lr: float = 1e-2, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
        self.lr, self.b1, self.b2, self.eps = lr, b1, b2, eps

    def padded(self, size: int, n: int) -> int:
        return -(-size // n) * n

    def init(self, params: Any, n: int) -> AdamState:
        size = sum(p.size for p in jax.tree.leaves(params))
        zeros = jnp.zeros(self.padded(size, n))
        return AdamState(jnp.zeros((), jnp.int32), zeros, zeros)

    def update(self, grads: Any, state: AdamState, params: Any):
        flat, unravel = ravel_pytree(params)
        g, _ = ravel_pytree(grads)
        n = lax.axis_size(AXIS)
        pad = self.padded(flat.size, n) - flat.size
        g = lax.psum_scatter(jnp.pad(g, (0, pad)), AXIS, scatter_dimension=0, tiled=True) / n
        shard = g.size
        start = lax.axis_index(AXIS) * shard
        mine = lax.dynamic_slice(jnp.pad(flat, (0, pad)), (start,), (shard,))
        count = state.count + 1
        mu = self.b1 * state.mu + (1 - self.b1) * g
        nu = self.b2 * state.nu + (1 - self.b2) * g**2
        mhat, nhat = mu / (1 - self.b1**count), nu / (1 - self.b2**count)
        mine = mine - self.lr * mhat / (jnp.sqrt(nhat) + self.eps)
        flat = lax.all_gather(mine, AXIS, tiled=True)[: flat.size]
        return unravel(flat), AdamState(count, mu, nu)
