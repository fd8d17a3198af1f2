# to: pmap shard_map
# convert: train_step evaluate
from functools import partial

import jax
import jax.numpy as jnp


def loss_fn(params, x, y, power):
    return jnp.mean(jnp.abs(x @ params - y) ** power)


@partial(jax.jit, static_argnames=("power", "scale"))
def train_step(params, x, y, rate=0.05, power=2, scale=1):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, power)
    return params - rate * scale * grads, loss


@partial(jax.jit, static_argnums=3)
def evaluate(params, x, y, power=2):
    return jnp.mean(jnp.abs(x @ params - y) ** power)


x = jnp.arange(64.0).reshape(16, 4) / 64
y = jnp.arange(16.0) / 16
params = jnp.ones(4)
for _ in range(3):
    params, loss = train_step(params, x, y)
    print("loss", loss)
params, loss = train_step(params, x, y, 0.1, 4)
print("loss", loss)
params, loss = train_step(params, x, y, power=4)
print("loss", loss, params)
print("evaluated", evaluate(params, x, y), evaluate(params, x, y, 4))
