"""Residual MLP in haiku: transform_with_state, cross-replica batch norm, replicated train state."""

from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax


class TrainState(NamedTuple):
    params: hk.Params
    state: hk.State
    opt_state: optax.OptState


def forward(x, is_training):
    x = hk.Linear(16)(x)
    for _ in range(2):
        h = hk.BatchNorm(True, True, 0.9, cross_replica_axis="i")(x, is_training)
        x = x + hk.Linear(16)(jax.nn.relu(h))
    return hk.Linear(3)(x)


net = hk.without_apply_rng(hk.transform_with_state(forward))
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9))


def loss_fn(params, state, batch):
    logits, state = net.apply(params, state, batch["image"], True)
    xent = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"])
    return xent.mean(), state


def train_step(ts: TrainState, batch):
    (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(ts.params, ts.state, batch)
    grads = jax.lax.pmean(grads, "i")
    updates, opt_state = optimizer.update(grads, ts.opt_state, ts.params)
    params = optax.apply_updates(ts.params, updates)
    scalars = {"loss": jax.lax.pmean(loss, "i"), "grad_norm": optax.global_norm(grads)}
    return TrainState(params, state, opt_state), scalars


def eval_step(ts: TrainState, batch):
    logits, _ = net.apply(ts.params, ts.state, batch["image"], False)
    hits = jnp.argmax(logits, -1) == batch["label"]
    return jax.lax.psum({"correct": hits.sum(), "total": hits.size}, "i")


def make_init(batch):
    def init(key):
        params, state = jax.pmap(lambda k, b: net.init(k, b["image"], True), axis_name="i")(key, batch)
        return TrainState(params, state, jax.pmap(optimizer.init)(params))

    return init


def evaluate(p_eval, ts, batches):
    correct = total = 0
    for batch in batches:
        out = jax.device_get(jax.tree.map(lambda v: v[0], p_eval(ts, batch)))
        correct, total = correct + out["correct"], total + out["total"]
    return correct / total


def main():
    n = jax.local_device_count()
    rng = np.random.default_rng(0)
    images = rng.normal(size=(n, 4, 8)).astype("float32") * np.arange(1, n + 1).reshape(n, 1, 1)
    labels = rng.integers(0, 3, size=(n, 4))
    batch = {"image": images, "label": labels}
    key = jnp.stack([jax.random.key(42)] * n)
    ts = make_init(batch)(key)
    p_train = jax.pmap(train_step, axis_name="i", donate_argnums=0)
    p_eval = jax.pmap(eval_step, axis_name="i")
    for _ in range(2):
        ts, scalars = p_train(ts, batch)
    accuracy = evaluate(p_eval, ts, [batch])
    logits = [net.apply(*jax.tree.map(lambda v: v[i], (ts.params, ts.state)), images[i], False)[0] for i in range(n)]
    want = np.mean([np.mean(np.argmax(a, -1) == b) for a, b in zip(logits, labels)])
    same = all(np.allclose(leaf, leaf[:1], atol=1e-5) for leaf in jax.tree.leaves(jax.device_get(ts)))
    return bool(same and np.isclose(accuracy, want))


agrees = main()
