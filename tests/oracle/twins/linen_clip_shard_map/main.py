"""A dual encoder with gathered negatives; losses of both directions, a learned temperature."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = "batch"


class ImageEncoder(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(8, (3, 3), strides=2)(images)
        x = nn.relu(nn.GroupNorm(num_groups=4)(x))
        return nn.Dense(self.dim)(x.mean(axis=(1, 2)))


class TextEncoder(nn.Module):
    dim: int
    vocab: int = 24

    @nn.compact
    def __call__(self, tokens):
        mask = (tokens > 0)[..., None]
        x = nn.Embed(self.vocab, 16)(tokens)
        x = jnp.tanh(nn.Dense(16)(x))
        pooled = jnp.sum(x * mask, axis=1) / jnp.maximum(mask.sum(axis=1), 1)
        return nn.Dense(self.dim)(pooled)


class DualEncoder(nn.Module):
    dim: int = 8

    def setup(self):
        self.image = ImageEncoder(self.dim)
        self.text = TextEncoder(self.dim)
        self.log_scale = self.param("log_scale", nn.initializers.constant(1.0), ())

    def __call__(self, images, tokens):
        zi = self.image(images)
        zt = self.text(tokens)
        zi = zi / jnp.linalg.norm(zi, axis=-1, keepdims=True)
        zt = zt / jnp.linalg.norm(zt, axis=-1, keepdims=True)
        return zi, zt, jnp.exp(self.log_scale)


@struct.dataclass
class Metrics:
    loss: Any
    accuracy: Any


def contrastive(zi, zt, scale):
    """The loss of this device's pairs against everybody's."""
    all_i = jax.lax.all_gather(zi, BATCH, tiled=True)
    all_t = jax.lax.all_gather(zt, BATCH, tiled=True)
    n = zi.shape[0]
    labels = jax.lax.axis_index(BATCH) * n + jnp.arange(n)
    logits_i = scale * zi @ all_t.T
    logits_t = scale * zt @ all_i.T
    loss_i = optax.softmax_cross_entropy_with_integer_labels(logits_i, labels)
    loss_t = optax.softmax_cross_entropy_with_integer_labels(logits_t, labels)
    hits = jnp.argmax(logits_i, axis=-1) == labels
    return 0.5 * (loss_i.mean() + loss_t.mean()), hits.mean()


def train_step(state, images, tokens):
    def loss_fn(params):
        zi, zt, scale = state.apply_fn({"params": params}, images, tokens)
        loss, accuracy = contrastive(zi, zt, scale)
        return loss, accuracy

    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    grads = jax.lax.pmean(grads, BATCH)
    metrics = Metrics(loss=jax.lax.pmean(loss, BATCH), accuracy=jax.lax.pmean(accuracy, BATCH))
    return state.apply_gradients(grads=grads), metrics


def main():
    mesh = Mesh(np.asarray(jax.devices()), (BATCH,))
    rng = np.random.default_rng(1)
    images = jnp.asarray(rng.normal(size=(32, 8, 8, 3)), jnp.float32)
    tokens = jnp.asarray(rng.integers(0, 24, size=(32, 6)))
    model = DualEncoder()
    params = model.init(jax.random.key(0), images[:1], tokens[:1])["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.5))

    def whole(params):
        zi, zt, scale = model.apply({"params": params}, images, tokens)
        logits = scale * zi @ zt.T
        labels = jnp.arange(logits.shape[0])
        loss_i = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        loss_t = optax.softmax_cross_entropy_with_integer_labels(logits.T, labels)
        return 0.5 * (loss_i.mean() + loss_t.mean()), (logits.argmax(-1) == labels).mean()

    (want, want_accuracy), grads = jax.value_and_grad(whole, has_aux=True)(params)
    alone = state.apply_gradients(grads=grads)

    step = jax.jit(
        jax.shard_map(
            train_step,
            mesh=mesh,
            in_specs=(P(), P(BATCH), P(BATCH)),
            out_specs=(P(), P()),
            check_vma=False,
        )
    )
    rows = NamedSharding(mesh, P(BATCH))
    state, metrics = step(state, jax.device_put(images, rows), jax.device_put(tokens, rows))
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), state.params, alone.params)
    return (
        all(jax.tree.leaves(close))
        and np.allclose(metrics.loss, want, atol=1e-4)
        and np.allclose(metrics.accuracy, want_accuracy)
    )


agrees = main()
