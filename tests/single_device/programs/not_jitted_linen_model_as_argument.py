# convert: update
"""linen with the model and optimizer handed over."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax


class MLP(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.relu(nn.Dense(self.features)(x))
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(1)(x)[:, 0]


def update(model, tx, params, opt_state, rng, x, y, *, train):
    def loss(params):
        pred = model.apply({"params": params}, x, train=train, rngs={"dropout": rng})
        return jnp.mean(jnp.square(pred - y))

    value, grads = jax.value_and_grad(loss)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, value


def evaluate(model, params, x, y):
    total = 0.0
    for i in range(0, len(x), 8):
        pred = model.apply({"params": params}, x[i : i + 8], train=False)
        total += jnp.sum(jnp.square(pred - y[i : i + 8]))
    return total / len(x)


model = MLP(16)
x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
y = x.sum(axis=1)
params = model.init(jax.random.key(0), x[:1], train=False)["params"]
tx = optax.sgd(0.1)
opt_state = tx.init(params)
for step in range(4):
    params, opt_state, value = update(
        model, tx, params, opt_state, jax.random.fold_in(jax.random.key(1), step), x, y, train=True
    )
error = evaluate(model, params, x, y)
