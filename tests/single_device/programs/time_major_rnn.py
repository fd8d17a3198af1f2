# convert: train_step
"""A recurrent network over [time, batch, features]: the rows lie along the second axis."""

import jax
import jax.numpy as jnp
import numpy as np


def loss_fn(params, sequences, targets):
    def tick(hidden, x):
        hidden = jnp.tanh(x @ params["in"] + hidden @ params["rec"])
        return hidden, hidden @ params["out"]

    _, outputs = jax.lax.scan(tick, jnp.zeros((sequences.shape[1], 5)), sequences)
    return jnp.mean((outputs[..., 0] - targets) ** 2)


@jax.jit
def train_step(params, sequences, targets):
    loss, grads = jax.value_and_grad(loss_fn)(params, sequences, targets)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


rng = np.random.default_rng(0)
params = {"in": rng.normal(size=(3, 5)) * 0.5, "rec": np.eye(5) * 0.5, "out": rng.normal(size=(5, 1)) * 0.5}
losses = []
for _ in range(4):
    sequences = rng.normal(size=(12, 16, 3)).astype(np.float32)
    params, loss = train_step(params, sequences, np.cumsum(sequences, axis=0).sum(axis=-1))
    losses.append(float(loss))
