import argparse
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax import struct
from flax.jax_utils import replicate, unreplicate


@struct.dataclass
class DiffusionState:
    step: int
    params: Any
    ema_params: Any
    opt_state: Any
    apply_fn: Callable = struct.field(pytree_node=False)
    tx: optax.GradientTransformation = struct.field(pytree_node=False)

    def apply_gradients(self, grads, decay):
        updates, opt_state = self.tx.update(grads, self.opt_state, self.params)
        params = optax.apply_updates(self.params, updates)
        ema = jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, self.ema_params, params)
        return self.replace(step=self.step + 1, params=params, ema_params=ema, opt_state=opt_state)


class Denoiser(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, t):
        emb = nn.Dense(self.width)(jnp.stack([jnp.sin(t), jnp.cos(t)], -1))
        h = nn.swish(nn.Dense(self.width)(x) + emb)
        return nn.Dense(x.shape[-1])(h)


def q_sample(x, t, noise):
    alpha = jnp.cos(0.5 * jnp.pi * t)[:, None]
    return alpha * x + jnp.sqrt(1 - alpha**2) * noise


def train_step(state, images, rng, *, decay, axis_name="batch"):
    rng = jax.random.fold_in(rng, jax.lax.axis_index(axis_name))
    t_rng, noise_rng = jax.random.split(rng)
    t = jax.random.uniform(t_rng, (images.shape[0],))
    noise = jax.random.normal(noise_rng, images.shape)

    def loss_fn(params):
        pred = state.apply_fn({"params": params}, q_sample(images, t, noise), t)
        return jnp.mean(jnp.square(pred - noise))

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = jax.lax.pmean(grads, axis_name)
    state = state.apply_gradients(grads, decay)
    return state, {"loss": jax.lax.pmean(loss, axis_name), "noise_std": noise}


def sample(params, rng, shape, apply_fn, steps):
    rng, key = jax.random.split(rng)
    x = jax.random.normal(key, shape)

    def body(i, carry):
        x, rng = carry
        rng, key = jax.random.split(rng)
        t = jnp.full(shape[:1], 1.0 - i / steps)
        x = x - 0.1 * apply_fn({"params": params}, x, t) + 0.05 * jax.random.normal(key, shape)
        return x, rng

    return jax.lax.fori_loop(0, steps, body, (x, rng))[0]


def parse_args(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--features", type=int, default=6)
    parser.add_argument("--ema-decay", type=float, default=0.9)
    parser.add_argument("--num-samples", type=int, default=16)
    return parser.parse_args([] if argv is None else argv)


def main():
    args = parse_args()
    n = jax.local_device_count()
    rng = jax.random.PRNGKey(0)
    rng, init_rng = jax.random.split(rng)
    model, tx = Denoiser(16), optax.adamw(1e-3)
    params = model.init(init_rng, jnp.zeros((1, args.features)), jnp.zeros(1))["params"]
    state = DiffusionState(0, params, params, tx.init(params), model.apply, tx)
    state = replicate(state)
    p_step = jax.pmap(functools.partial(train_step, decay=args.ema_decay), axis_name="batch", in_axes=(0, 0, None))
    p_sample = jax.pmap(functools.partial(sample, apply_fn=model.apply, steps=4), static_broadcasted_argnums=(2,))
    data = np.random.default_rng(0).normal(size=(2, args.batch_size, args.features)).astype("float32")
    for images in data:
        rng, step_rng = jax.random.split(rng)
        images = images.reshape((n, -1) + images.shape[1:])
        state, metrics = p_step(state, images, step_rng)
    rng, sample_rng = jax.random.split(rng)
    shape = (args.num_samples // n, args.features)
    images = p_sample(state.ema_params, jax.random.split(sample_rng, n), shape)
    distinct = len({round(float(v), 5) for v in images[..., 0].ravel()})
    noises = len({round(float(v), 5) for v in metrics["noise_std"][..., 0].ravel()})
    leaf = np.asarray(jax.tree.leaves(state.params)[0])
    single = unreplicate(state)
    return (
        bool(np.allclose(leaf, leaf[:1]))
        and distinct == args.num_samples
        and noises == args.batch_size
        and int(single.step) == 2
    )


if __name__ == "__main__":
    agrees = main()
