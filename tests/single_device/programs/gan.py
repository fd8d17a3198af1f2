# convert: step_discriminator step_generator
"""Two models that train against each other, in one loop."""

import jax
import jax.numpy as jnp
import numpy as np


def discriminate(params, x):
    return jax.nn.sigmoid(jnp.tanh(x @ params["a"]) @ params["b"])


def generate(params, noise):
    return jnp.tanh(noise @ params)


@jax.jit
def step_discriminator(d_params, g_params, real, key):
    noise = jax.random.normal(key, (real.shape[0], 4))

    def loss(p):
        fake = discriminate(p, generate(g_params, noise))
        return -jnp.mean(jnp.log(discriminate(p, real)) + jnp.log1p(-fake))

    value, grads = jax.value_and_grad(loss)(d_params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, d_params, grads), value


@jax.jit
def step_generator(g_params, d_params, noise):
    value, grads = jax.value_and_grad(lambda p: -jnp.mean(jnp.log(discriminate(d_params, generate(p, noise)))))(
        g_params
    )
    return g_params - 0.1 * grads, value


key = jax.random.key(0)
d_params = {"a": jnp.eye(3, 5), "b": jnp.linspace(-1.0, 1.0, 5)}
g_params = jnp.eye(4, 3)
rows = np.random.default_rng(0).normal(size=(4, 24, 3)).astype(np.float32)
for images in rows:
    key, one, two = jax.random.split(key, 3)
    d_params, d_value = step_discriminator(d_params, g_params, images, one)
    g_params, g_value = step_generator(g_params, d_params, jax.random.normal(two, (24, 4)))
