# convert: train_many
"""Whole trainings mapped over seeds, as in reinforcement learning in pure JAX."""

import jax
import jax.numpy as jnp


def make_train(config):
    def train(key):
        weights = jax.random.normal(key, (config["size"],))

        def step(w, x):
            return w - config["lr"] * jax.grad(lambda v: jnp.sum((v * x - 1.0) ** 2))(w), jnp.sum(w)

        return jax.lax.scan(step, weights, jnp.linspace(0.0, 1.0, config["steps"]))

    return train


train_many = jax.jit(jax.vmap(make_train({"size": 5, "lr": 0.1, "steps": 7})))
keys = jax.random.split(jax.random.key(0), 16)
final, history = train_many(keys)
best = int(jnp.argmax(history[:, -1]))
