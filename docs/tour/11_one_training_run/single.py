"""Lesson 11: a training run of 200 steps, an MLP that learns to tell two spirals apart."""

import jax
import jax.numpy as jnp
import numpy as np

STEPS, ROWS, RATE, DECAY = 200, 512, 0.2, 0.9


def spirals(random):
    """Returns points on two spirals, and which of the two each point is on."""
    side = random.integers(0, 2, ROWS)
    angle = random.uniform(0.5, 3.0, ROWS)
    turn = 2.5 * angle + np.pi * side
    points = np.stack([angle * np.cos(turn), angle * np.sin(turn)], axis=1) / 3.0
    noisy = points + 0.02 * random.normal(size=points.shape)
    return {"points": noisy.astype(np.float32), "side": side.astype(np.float32)}


def new_params(random, sizes=(2, 64, 64, 1)):
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weights = random.normal(size=(fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
        layers.append({"w": weights.astype(np.float32), "b": np.zeros(fan_out, np.float32)})
    return layers


def predict(params, points):
    hidden = points
    for layer in params[:-1]:
        hidden = jax.nn.relu(hidden @ layer["w"] + layer["b"])
    return (hidden @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, batch):
    logits = predict(params, batch["points"])
    errors = jnp.maximum(logits, 0) - logits * batch["side"] + jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return jnp.mean(errors)


@jax.jit
def train_step(params, speed, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    speed = jax.tree.map(lambda s, g: DECAY * s - RATE * g, speed, grads)
    params = jax.tree.map(lambda p, s: p + s, params, speed)
    return params, speed, loss


random = np.random.default_rng(0)
params = new_params(random)
speed = jax.tree.map(np.zeros_like, params)
losses = []
for step in range(STEPS):
    params, speed, loss = train_step(params, speed, spirals(random))
    losses.append(float(loss))
    if step % 20 == 0 or step == STEPS - 1:
        print(f"step {step:3}  loss {losses[-1]:.4f}")
