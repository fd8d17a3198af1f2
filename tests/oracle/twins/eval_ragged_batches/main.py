"""Evaluation over a test set whose last batch is short: batches are padded and padding is masked."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

NUM_CLASSES = 5


class Classifier(nn.Module):
    width: int = 16

    @nn.compact
    def __call__(self, x, train=False):
        x = nn.Dense(self.width)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.relu(x)
        return nn.Dense(NUM_CLASSES)(x)


def pad_to(batch, size):
    rows = len(batch["label"])
    padded = {k: np.concatenate([v, np.zeros((size - rows, *v.shape[1:]), v.dtype)]) for k, v in batch.items()}
    padded["mask"] = (np.arange(size) < rows).astype(np.float32)
    return padded


def device_batch(batch, n):
    return {k: v.reshape((n, -1) + v.shape[1:]) for k, v in batch.items()}


def batches(data, size):
    total = len(data["label"])
    for start in range(0, total, size):
        yield {k: v[start : start + size] for k, v in data.items()}


class Evaluator:
    def __init__(self, model, batch_size):
        self.model = model
        self.batch_size = batch_size
        self.n = jax.local_device_count()
        self._step = jax.pmap(self._eval_step, axis_name="eval", in_axes=(None, 0))

    def _eval_step(self, variables, batch):
        logits = self.model.apply(variables, batch["x"], train=False)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"])
        hits = jnp.argmax(logits, axis=-1) == batch["label"]
        mask = batch["mask"]
        sums = {
            "loss": jnp.sum(losses * mask),
            "hits": jnp.sum(hits * mask),
            "count": jnp.sum(mask),
        }
        return jax.lax.psum(sums, axis_name="eval")

    def run(self, variables, data):
        totals = {"loss": 0.0, "hits": 0.0, "count": 0.0}
        for batch in batches(data, self.batch_size):
            padded = pad_to(batch, self.batch_size)
            sums = self._step(variables, device_batch(padded, self.n))
            sums = jax.tree.map(lambda x: float(x[0]), sums)
            totals = {k: totals[k] + sums[k] for k in totals}
        return {"loss": totals["loss"] / totals["count"], "accuracy": totals["hits"] / totals["count"]}


def main():
    rng = np.random.default_rng(0)
    data = {
        "x": rng.normal(size=(75, 6)).astype(np.float32),
        "label": rng.integers(0, NUM_CLASSES, size=75),
    }
    model = Classifier()
    variables = model.init(jax.random.key(0), data["x"][:2])
    logits = model.apply(variables, data["x"])
    want = optax.softmax_cross_entropy_with_integer_labels(logits, data["label"]).mean()
    accuracy = (np.argmax(logits, -1) == data["label"]).mean()
    evaluator = Evaluator(model, batch_size=32)
    scores = evaluator.run(variables, data)
    return np.allclose(scores["loss"], want, atol=1e-4) and np.allclose(scores["accuracy"], accuracy)


agrees = main()
