"""A GAN with two optimizers, trained by shard_map steps; haiku networks, structs for the state."""

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

LATENT = 4


@struct.dataclass
class Player:
    params: Any
    opt: Any


@struct.dataclass
class GanState:
    gen: Player
    disc: Player
    real_mean: jax.Array


generator = hk.without_apply_rng(hk.transform(lambda z: hk.nets.MLP([16, 6])(z)))
discriminator = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 1])(x)[..., 0]))


class GAN:
    def __init__(self, mesh, axis="data", lr=1e-2, decay=0.5):
        self.mesh, self.axis, self.decay = mesh, axis, decay
        self.optimizers = {"gen": optax.adam(lr, b1=0.5), "disc": optax.sgd(lr)}
        batch = P(axis)
        self.step = jax.jit(
            jax.shard_map(
                self._step, mesh=mesh, in_specs=(P(), batch, P()), out_specs=(P(), P(), batch), check_vma=False
            )
        )

    def init(self, key, x):
        kg, kd = jax.random.split(key)
        gen = generator.init(kg, jnp.zeros((1, LATENT)))
        disc = discriminator.init(kd, x[:1])
        return GanState(
            gen=Player(gen, self.optimizers["gen"].init(gen)),
            disc=Player(disc, self.optimizers["disc"].init(disc)),
            real_mean=jnp.zeros(x.shape[-1]),
        )

    def disc_loss(self, disc, gen, x, z):
        fake = generator.apply(gen, z)
        real_logits = discriminator.apply(disc, x)
        fake_logits = discriminator.apply(disc, fake)
        return jnp.mean(jax.nn.softplus(-real_logits)) + jnp.mean(jax.nn.softplus(fake_logits))

    def gen_loss(self, gen, disc, z):
        return jnp.mean(jax.nn.softplus(-discriminator.apply(disc, generator.apply(gen, z))))

    def _apply(self, name, player, grads):
        updates, opt = self.optimizers[name].update(grads, player.opt, player.params)
        return player.replace(params=optax.apply_updates(player.params, updates), opt=opt)

    def _step(self, state, x, key):
        key = jax.random.fold_in(key, jax.lax.axis_index(self.axis))
        z = jax.random.normal(key, (x.shape[0], LATENT))
        d_loss, d_grads = jax.value_and_grad(self.disc_loss)(state.disc.params, state.gen.params, x, z)
        g_loss, g_grads = jax.value_and_grad(self.gen_loss)(state.gen.params, state.disc.params, z)
        d_grads, g_grads, losses = jax.lax.pmean((d_grads, g_grads, {"d": d_loss, "g": g_loss}), self.axis)
        mean = jax.lax.pmean(x.mean(0), self.axis)
        state = state.replace(
            gen=self._apply("gen", state.gen, g_grads),
            disc=self._apply("disc", state.disc, d_grads),
            real_mean=self.decay * state.real_mean + (1 - self.decay) * mean,
        )
        return state, losses, z


def main():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    gan = GAN(mesh)
    data = jax.random.normal(jax.random.key(3), (32, 6)) * jnp.arange(1, 33)[:, None]
    state = gan.init(jax.random.key(0), data)
    key = jax.random.key(9)
    for i in range(2):
        before = state
        state, losses, z = gan.step(state, data, jax.random.fold_in(key, i))
    grads = jax.grad(gan.disc_loss)(before.disc.params, before.gen.params, data, z)
    want_disc = gan._apply("disc", before.disc, grads).params
    grads = jax.grad(gan.gen_loss)(before.gen.params, before.disc.params, z)
    want_gen = gan._apply("gen", before.gen, grads).params
    got, want = (state.disc.params, state.gen.params), (want_disc, want_gen)
    close = [np.allclose(a, b, atol=1e-3) for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want))]
    distinct = len({round(float(v), 6) for v in z[:, 0]}) == 32
    mean_ok = np.allclose(state.real_mean, 0.75 * data.mean(0), atol=1e-4)
    return all(close) and distinct and mean_ok


agrees = main()
