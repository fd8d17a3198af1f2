"""A small U-Net in flax.linen that predicts noise: convolutions, group norms, a resize."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


class Res(nn.Module):
    c: int

    @nn.compact
    def __call__(self, x, t):
        h = nn.Conv(self.c, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))
        h = h + nn.Dense(self.c)(t)[:, None, None]
        h = nn.Conv(self.c, (3, 3))(nn.silu(nn.GroupNorm(8)(h)))
        return h + nn.Conv(self.c, (1, 1))(x)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        t = nn.Dense(64)(jnp.stack([jnp.sin(t), jnp.cos(t)], -1))
        h = nn.Conv(32, (3, 3))(x)
        h = Res(32)(h, t)
        h = nn.avg_pool(h, (2, 2), (2, 2))
        h = Res(64)(h, t)
        h = jax.image.resize(h, (h.shape[0], h.shape[1] * 2, h.shape[2] * 2, h.shape[3]), "nearest")
        return nn.Conv(3, (3, 3))(Res(32)(h, t))


def entry():
    mesh = mesh_of(batch=8)
    net, tx = Net(), optax.adam(1e-4)

    def step(params, opt, x, key):
        def loss(params):
            k1, k2 = jax.random.split(key)
            t = jax.random.uniform(k1, (x.shape[0],))
            noise = jax.random.normal(k2, x.shape)
            noisy = x * jnp.cos(t)[:, None, None, None] + noise * jnp.sin(t)[:, None, None, None]
            return jnp.mean((net.apply(params, noisy, t) - noise) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        updates, opt = tx.update(grads, opt)
        return optax.apply_updates(params, updates), opt, value

    x = abstract(mesh, P("batch"), 16, 16, 16, 3)
    params = jax.eval_shape(net.init, jax.random.key(0), jnp.zeros((16, 16, 16, 3)), jnp.zeros((16,)))
    opt = jax.eval_shape(tx.init, params)

    def replicated(tree):
        return jax.tree.map(lambda a: abstract(mesh, P(), *a.shape, dtype=a.dtype), tree)

    return jax.jit(step), (replicated(params), replicated(opt), x, jax.eval_shape(lambda: jax.random.key(0)))
