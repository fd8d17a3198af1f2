# convert: train_step
"""A plain training loop that nobody jitted yet, with a mode and a class of layers."""

import jax
import jax.numpy as jnp
import numpy as np


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [
        (jax.random.normal(k, (m, n)) * 0.3, jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]


def forward(params, x, activation):
    for w, b in params[:-1]:
        x = x @ w + b
        if activation == "relu":
            x = jax.nn.relu(x)
        else:
            x = jnp.tanh(x)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y, num_classes, activation):
    logits = forward(params, x, activation)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(y, num_classes) * jax.nn.log_softmax(logits), axis=-1))


def train_step(params, x, y, num_classes, activation="relu", use_decay=False):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, num_classes, activation)
    if use_decay:
        grads = jax.tree.map(lambda g, p: g + 1e-3 * p, grads, params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def accuracy(params, x, y):
    return float(jnp.mean(jnp.argmax(forward(params, x, "relu"), axis=-1) == y))


rng = np.random.default_rng(0)
params = init(jax.random.key(0), [6, 16, 4])
losses = []
for _ in range(5):
    x = rng.normal(size=(32, 6)).astype(np.float32)
    y = rng.integers(0, 4, size=32)
    params, loss = train_step(params, x, y, 4, activation="tanh", use_decay=True)
    losses.append(loss.item())
acc = accuracy(params, x, y)
