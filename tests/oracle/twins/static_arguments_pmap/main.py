"""Evaluation helpers with static arguments: top-k accuracy, modes chosen by a string."""

import enum
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Mode(str, enum.Enum):
    MEAN = "mean"
    SUM = "sum"


class EvalConfig(NamedTuple):
    topk: int = 2
    modes: tuple[Mode, ...] = (Mode.MEAN, Mode.SUM)
    thresholds: tuple[float, ...] = (0.1, 0.5)


REDUCERS = {Mode.MEAN: jax.lax.pmean, Mode.SUM: jax.lax.psum}


@partial(jax.pmap, axis_name="shard", in_axes=(None, 0, 0, 0), static_broadcasted_argnums=(4, 5))
def evaluate(weights, x, labels, mask, mode, topk):
    logits = x @ weights
    _, best = jax.lax.top_k(logits, topk)
    hit = (best == labels[:, None]).any(-1) * mask
    value = hit.sum() if mode == Mode.SUM else hit.mean()
    return REDUCERS[mode](value, "shard")


@partial(jax.jit, static_argnames=("thresholds",))
def histogram(scores, thresholds):
    return jnp.stack([(scores > t).sum() for t in thresholds])


@cache
def make_confusion(classes):
    @partial(jax.pmap, axis_name="shard", in_axes=(None, 0, 0))
    def confusion(weights, x, labels):
        pred = jnp.argmax(x @ weights, -1)
        table = jnp.zeros((classes, classes), int).at[labels, pred].add(1)
        return jax.lax.psum(table, "shard")

    return confusion


def pad_to(n, *arrays):
    for a in arrays:
        rest = -len(a) % n
        yield np.concatenate([a, np.zeros((rest, *a.shape[1:]), a.dtype)]).reshape(n, -1, *a.shape[1:])


def main(cfg=EvalConfig()):
    n = jax.device_count()
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.normal(size=(6, 4)).astype("float32"))
    x, labels = rng.normal(size=(45, 6)).astype("float32"), rng.integers(0, 4, size=45)
    xs, ys, mask = pad_to(n, x, labels, np.ones(45, "float32"))
    out = {mode: evaluate(weights, xs, ys, mask, mode, cfg.topk)[0] for mode in cfg.modes}
    best = np.argsort(-(x @ weights), axis=1)[:, : cfg.topk]
    hits = (best == labels[:, None]).any(1)
    counts = histogram(x @ weights, cfg.thresholds)
    table = make_confusion(4)(weights, xs, ys)[0]
    right = np.isclose(out[Mode.SUM], hits.sum()) and np.isclose(out[Mode.MEAN], hits.sum() / mask.size)
    return bool(right and counts.shape == (2,) and table.sum() == mask.size)


if __name__ == "__main__":
    agrees = main()
