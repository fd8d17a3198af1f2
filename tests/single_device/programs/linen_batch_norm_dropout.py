# convert: train_step eval_step
"""A flax.linen classifier with BatchNorm and Dropout, and an evaluation with a ragged last batch.

Its optimizer is SGD: a bias before BatchNorm has no gradient but rounding errors, which Adam would make steps of.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state


class TrainState(train_state.TrainState):
    batch_stats: Any


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(16)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.relu(x)
        x = nn.Dropout(0.3, deterministic=not train)(x)
        return nn.Dense(4)(x)


def create_state(rng):
    net = Net()
    variables = net.init(rng, jnp.ones((1, 6)), train=False)
    return TrainState.create(
        apply_fn=net.apply,
        params=variables["params"],
        batch_stats=variables["batch_stats"],
        tx=optax.sgd(1e-2, momentum=0.9),
    )


@jax.jit
def train_step(state, batch, dropout_rng):
    def loss_fn(params):
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            batch["image"],
            train=True,
            rngs={"dropout": dropout_rng},
            mutable=["batch_stats"],
        )
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean(), (logits, updates)

    (loss, (logits, updates)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"])
    return state, {"loss": loss, "accuracy": jnp.mean(jnp.argmax(logits, -1) == batch["label"])}


@jax.jit
def eval_step(state, images, labels):
    logits = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, images, train=False)
    return jnp.sum(jnp.argmax(logits, -1) == labels)


def train_epoch(state, images, labels, batch_size, rng):
    losses = []
    for start in range(0, len(images), batch_size):
        rng, dropout_rng = jax.random.split(rng)
        batch = {"image": images[start : start + batch_size], "label": labels[start : start + batch_size]}
        state, metrics = train_step(state, batch, dropout_rng)
        losses.append(metrics["loss"].item())
    return state, losses


def main():
    generator = np.random.default_rng(1)
    images = generator.normal(size=(70, 6)).astype(np.float32)
    labels = generator.integers(0, 4, size=70)
    state = create_state(jax.random.PRNGKey(0))
    state, losses = train_epoch(state, images, labels, 16, jax.random.PRNGKey(1))
    right = 0
    for start in range(0, 70, 32):
        right += int(eval_step(state, images[start : start + 32], labels[start : start + 32]))
    return losses, right, jax.tree.map(np.asarray, state.params)


losses, right, final = main()
weights = np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(final)])
