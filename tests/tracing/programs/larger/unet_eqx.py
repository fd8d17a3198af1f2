"""Equinox convolutional autoencoder with group norm and skips, data parallel by filter_shard, filter_jit, optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Down(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.GroupNorm

    def __init__(self, i, o, key):
        self.conv = eqx.nn.Conv2d(i, o, 3, stride=2, padding=1, key=key)
        self.norm = eqx.nn.GroupNorm(8, o)

    def __call__(self, x):
        return jax.nn.silu(self.norm(self.conv(x)))


class UNet(eqx.Module):
    downs: list
    ups: list
    time: eqx.nn.MLP
    out: eqx.nn.Conv2d

    def __init__(self, key):
        k = jax.random.split(key, 8)
        self.downs = [Down(3, 64, k[0]), Down(64, 128, k[1]), Down(128, 256, k[2])]
        self.ups = [
            eqx.nn.ConvTranspose2d(256, 128, 4, 2, padding=1, key=k[3]),
            eqx.nn.ConvTranspose2d(256, 64, 4, 2, padding=1, key=k[4]),
            eqx.nn.ConvTranspose2d(128, 32, 4, 2, padding=1, key=k[5]),
        ]
        self.time = eqx.nn.MLP(1, 256, 128, 2, key=k[6])
        self.out = eqx.nn.Conv2d(32, 3, 1, key=k[7])

    def __call__(self, x, t):
        skips = []
        for d in self.downs:
            x = d(x)
            skips.append(x)
        x = skips.pop() + self.time(t[None])[:, None, None]
        x = jax.nn.silu(self.ups[0](x))
        x = jax.nn.silu(self.ups[1](jnp.concatenate([x, skips.pop()])))
        return self.out(jax.nn.silu(self.ups[2](jnp.concatenate([x, skips.pop()]))))


tx = optax.adamw(1e-3)


@eqx.filter_jit
def step(model, state, x, key):
    @eqx.filter_value_and_grad
    def loss(model):
        kt, kn = jax.random.split(key)
        t = jax.random.uniform(kt, (x.shape[0],))
        noise = jax.random.normal(kn, x.shape)
        xt = x * jnp.cos(t)[:, None, None, None] + noise * jnp.sin(t)[:, None, None, None]
        return jnp.mean((jax.vmap(model)(xt, t) - noise) ** 2)

    v, g = loss(model)
    u, state = tx.update(g, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, u), state, v


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    model = eqx.filter_eval_shape(UNet, jax.random.key(0))
    state = eqx.filter_eval_shape(tx.init, eqx.filter(model, lambda x: isinstance(x, jax.ShapeDtypeStruct)))

    def place(x):
        return (
            jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P()))
            if isinstance(x, jax.ShapeDtypeStruct)
            else x
        )

    model, state = jax.tree.map(place, (model, state))
    x = jax.ShapeDtypeStruct((128, 3, 64, 64), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return step, (model, state, x, jax.random.key(1))
