# convert: train_step eval_step
"""A flax.nnx model with BatchNorm, Dropout and metrics, changed in place.

Its optimizer is SGD: a bias before BatchNorm has no gradient but rounding errors, which Adam would make steps of.
"""

import jax
import numpy as np
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.first = nnx.Linear(6, 16, rngs=rngs)
        self.norm = nnx.BatchNorm(16, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(16, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


def loss_fn(model: Model, batch):
    logits = model(batch["x"])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean(), logits


@nnx.jit
def train_step(model: Model, optimizer: nnx.Optimizer, metrics: nnx.MultiMetric, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["y"])
    optimizer.update(model, grads)


@nnx.jit
def eval_step(model: Model, metrics: nnx.MultiMetric, batch):
    loss, logits = loss_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["y"])


generator = np.random.default_rng(0)
x, y = generator.normal(size=(64, 6)).astype(np.float32), generator.integers(0, 3, size=64)
model = Model(rngs=nnx.Rngs(0, dropout=1))
optimizer = nnx.Optimizer(model, optax.sgd(1e-2, momentum=0.9), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
model.train()
for start in range(0, 64, 16):
    train_step(model, optimizer, metrics, {"x": x[start : start + 16], "y": y[start : start + 16]})
trained = {name: float(value) for name, value in metrics.compute().items()}
trained_loss = trained["loss"]
metrics.reset()
model.eval()
eval_step(model, metrics, {"x": x, "y": y})
evaluated = float(metrics.compute()["loss"])
weights = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(nnx.state(model, nnx.Param))])
