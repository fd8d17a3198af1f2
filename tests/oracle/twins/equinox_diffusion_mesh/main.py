"""A denoiser in equinox, trained with filter_jit on a sharded batch; noise levels per example."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Denoiser(eqx.Module):
    inp: eqx.nn.Linear
    hidden: list
    out: eqx.nn.Linear
    freqs: jax.Array

    def __init__(self, size, width, depth, *, key):
        keys = jr.split(key, depth + 2)
        self.inp = eqx.nn.Linear(size + 8, width, key=keys[0])
        self.hidden = [eqx.nn.Linear(width, width, key=k) for k in keys[1:-1]]
        self.out = eqx.nn.Linear(width, size, key=keys[-1])
        self.freqs = jnp.arange(1.0, 5.0)

    def __call__(self, x, t):
        angles = jax.lax.stop_gradient(self.freqs) * t
        h = jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)])
        h = jax.nn.silu(self.inp(h))
        for layer in self.hidden:
            h = h + jax.nn.silu(layer(h))
        return self.out(h)


def alpha_bar(t):
    return jnp.cos(0.5 * jnp.pi * t) ** 2


def example_loss(model, x, t, noise):
    a = alpha_bar(t)
    noisy = jnp.sqrt(a) * x + jnp.sqrt(1 - a) * noise
    weight = 1.0 / (1.0 + t)
    return weight * jnp.mean((model(noisy, t) - noise) ** 2)


def batch_loss(model, x, key, offset=0):
    def draw(i):
        kt, kn = jr.split(jr.fold_in(key, i))
        return jr.uniform(kt), jr.normal(kn, x.shape[1:])

    t, noise = jax.vmap(draw)(offset + jnp.arange(x.shape[0]))
    return jnp.mean(jax.vmap(example_loss, in_axes=(None, 0, 0, 0))(model, x, t, noise))


class Trainer:
    def __init__(self, mesh, tx, decay=0.9):
        self.mesh = mesh
        self.tx = tx
        self.decay = decay
        self.rows = NamedSharding(mesh, P("data", None))
        self.everywhere = NamedSharding(mesh, P())

    def place(self, model, opt_state, ema):
        return eqx.filter_shard((model, opt_state, ema), self.everywhere)

    def step(self):
        def local(model, x, key):
            offset = jax.lax.axis_index("data") * x.shape[0]
            loss, grads = eqx.filter_value_and_grad(batch_loss)(model, x, key, offset)
            return jax.lax.pmean(loss, "data"), jax.lax.pmean(grads, "data")

        @eqx.filter_jit(donate="none")
        def run(model, opt_state, ema, x, key):
            params, static = eqx.partition(model, eqx.is_inexact_array)
            mapped = jax.shard_map(
                lambda p, x, k: local(eqx.combine(p, static), x, k),
                mesh=self.mesh,
                in_specs=(P(), P("data", None), P()),
                out_specs=(P(), P()),
                check_vma=False,
            )
            loss, grads = mapped(params, x, key)
            updates, opt_state = self.tx.update(grads, opt_state, params)
            model = eqx.apply_updates(model, updates)
            ema = jax.tree.map(
                lambda e, p: self.decay * e + (1 - self.decay) * p, ema, eqx.filter(model, eqx.is_inexact_array)
            )
            return model, opt_state, ema, loss

        return run


def main():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    model = Denoiser(6, 16, 2, key=jr.key(0))
    tx = optax.sgd(0.1)
    params = eqx.filter(model, eqx.is_inexact_array)
    opt_state = tx.init(params)
    x = jr.normal(jr.key(1), (40, 6)) * jnp.linspace(0.5, 2.0, 40)[:, None]
    key = jr.key(2)

    want, grads = eqx.filter_value_and_grad(batch_loss)(model, x, key)
    updates, _ = tx.update(grads, opt_state, params)
    alone = eqx.apply_updates(model, updates)

    trainer = Trainer(mesh, tx)
    model, opt_state, ema = trainer.place(model, opt_state, params)
    x = jax.device_put(x, trainer.rows)
    model, opt_state, ema, loss = trainer.step()(model, opt_state, ema, x, key)
    pairs = zip(jax.tree.leaves(eqx.filter(model, eqx.is_array)), jax.tree.leaves(eqx.filter(alone, eqx.is_array)))
    return bool(np.allclose(loss, want, atol=1e-5)) and all(np.allclose(a, b, atol=1e-5) for a, b in pairs)


agrees = main()
