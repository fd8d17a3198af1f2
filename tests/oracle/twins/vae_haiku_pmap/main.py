"""A variational autoencoder in haiku; pixels that are missing carry no weight."""

import functools
from collections.abc import Iterator

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

LATENT = 3


def encode_decode(x, noise):
    h = jax.nn.relu(hk.Linear(16, name="enc")(x))
    mean, log_var = jnp.split(hk.Linear(2 * LATENT, name="stats")(h), 2, axis=-1)
    z = mean + jnp.exp(0.5 * log_var) * noise
    h = jax.nn.relu(hk.Linear(16, name="dec")(z))
    return hk.Linear(x.shape[-1], name="out")(h), mean, log_var


vae = hk.without_apply_rng(hk.transform(encode_decode))


def elbo_terms(params, batch):
    recon, mean, log_var = vae.apply(params, batch["x"], batch["noise"])
    squared = jnp.square(recon - batch["x"]) * batch["present"]
    kl = 0.5 * jnp.sum(jnp.square(mean) + jnp.exp(log_var) - 1.0 - log_var, axis=-1)
    return jnp.sum(squared), jnp.sum(batch["present"]), jnp.mean(kl)


def update(params, opt_state, batch, *, tx, axis_name):
    pixels = jax.lax.psum(jnp.sum(batch["present"]), axis_name)
    devices = jax.lax.psum(1, axis_name)

    def loss_fn(p):
        squared, _, kl = elbo_terms(p, batch)
        return squared * devices / pixels + kl, (squared, kl)

    grads, (squared, kl) = jax.grad(loss_fn, has_aux=True)(params)
    grads = jax.lax.pmean(grads, axis_name)
    updates, opt_state = tx.update(grads, opt_state)
    logs = {"mse": jax.lax.psum(squared, axis_name) / pixels, "kl": jax.lax.pmean(kl, axis_name)}
    return optax.apply_updates(params, updates), opt_state, logs


def stream(seed: int, batch_size: int) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    while True:
        x = rng.normal(size=(batch_size, 10)).astype(np.float32)
        rate = np.linspace(0.1, 1.0, batch_size)[:, None]
        present = (rng.random(x.shape) < rate).astype(np.float32)
        noise = rng.normal(size=(batch_size, LATENT)).astype(np.float32)
        yield {"x": x * np.arange(1, batch_size + 1)[:, None] / 8, "present": present, "noise": noise}


def to_devices(batch, n):
    return jax.tree.map(lambda a: a.reshape(n, a.shape[0] // n, *a.shape[1:]), batch)


def main():
    n = jax.local_device_count()
    tx = optax.sgd(0.05)
    batch = next(stream(0, 4 * n))
    params = vae.init(jax.random.key(0), batch["x"], batch["noise"])

    def whole(p):
        squared, count, kl = elbo_terms(p, batch)
        return squared / count + kl, (squared / count, kl)

    grads, (mse, kl) = jax.grad(whole, has_aux=True)(params)
    alone = jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)
    step = jax.pmap(functools.partial(update, tx=tx, axis_name="i"), axis_name="i", donate_argnums=(0, 1))
    copies = jax.tree.map(lambda a: jnp.stack([a] * n), params)
    opt_state = jax.tree.map(lambda a: jnp.stack([a] * n), tx.init(params))
    copies, opt_state, logs = step(copies, opt_state, to_devices(batch, n))
    close = jax.tree.map(lambda a, b: np.allclose(a[0], b, atol=1e-4) and np.allclose(a[-1], b, atol=1e-4), copies, alone)
    return (
        all(jax.tree.leaves(close))
        and np.allclose(logs["mse"][0], mse, rtol=1e-4)
        and np.allclose(logs["kl"][0], kl, rtol=1e-4)
    )


agrees = main()
