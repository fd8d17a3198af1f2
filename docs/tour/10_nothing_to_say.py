"""Lesson 10: a correct program, and no findings.

The axis names are constants, a helper reduces over them, a `vmap` is inside a `pmap`, and each device has its own keys.
"""

from functools import partial

import jax
import jax.numpy as jnp

DEVICES, ENVIRONMENTS = "devices", "environments"


def synchronize(tree, axes):
    return jax.tree.map(lambda leaf: jax.lax.pmean(leaf, axes), tree)


def objective(policy, key):
    noise = jax.random.normal(key, policy.shape)
    return jnp.mean((policy + 0.1 * noise - 1.0) ** 2)


def update(policy, key):
    grads = jax.grad(objective)(policy, key)
    return policy - 0.5 * synchronize(grads, (ENVIRONMENTS, DEVICES))


@partial(jax.pmap, axis_name=DEVICES, in_axes=(None, 0), out_axes=None)
def train(policy, keys):
    per_environment = jax.vmap(update, in_axes=(None, 0), axis_name=ENVIRONMENTS)
    return per_environment(policy, keys)[0]


policy = jnp.zeros(3)
keys = jax.random.split(jax.random.key(0), (8, 16))
for _ in range(5):
    policy = train(policy, keys)
print(policy)
