"""Recall at k of queries against a sharded corpus: local top-k, gathered and merged."""

from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P


class Tower(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(16)(x)
        x = nn.Dense(self.dim)(nn.gelu(x))
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


class Scores(NamedTuple):
    recall: jax.Array
    reciprocal_rank: jax.Array
    queries: jax.Array


def merged_top_k(queries, passages, k, axis):
    """The best k of all passages for each query; every device holds a part of the passages."""
    offset = lax.axis_index(axis) * passages.shape[0]
    values, local = lax.top_k(queries @ passages.T, k)
    all_values = lax.all_gather(values, axis, axis=1, tiled=True)
    all_ids = lax.all_gather(local + offset, axis, axis=1, tiled=True)
    _, best = lax.top_k(all_values, k)
    return jnp.take_along_axis(all_ids, best, axis=1)


def evaluate(params, batch, corpus, *, k):
    model = Tower()
    passages = model.apply(params, corpus)
    queries = model.apply(params, batch["query"])
    found = merged_top_k(queries, passages, k, "index")
    match = found == batch["gold"][:, None]
    hit = match.any(axis=1) * batch["valid"]
    rank = jnp.where(match.any(axis=1), 1.0 / (1 + jnp.argmax(match, axis=1)), 0.0) * batch["valid"]
    sums = Scores(jnp.sum(hit), jnp.sum(rank), jnp.sum(batch["valid"]))
    sums = jax.tree.map(lambda x: lax.psum(x, "query"), sums)
    return {"recall": sums.recall / sums.queries, "mrr": sums.reciprocal_rank / sums.queries}


def main():
    mesh = jax.make_mesh((2, 4), ("query", "index"), axis_types=(AxisType.Auto, AxisType.Auto))
    rng = np.random.default_rng(0)
    corpus = rng.normal(size=(48, 6)).astype(np.float32)
    gold = rng.integers(0, 48, size=20)
    noise = np.linspace(0.0, 1.5, 20)[:, None]
    query = (corpus[gold] + noise * rng.normal(size=(20, 6))).astype(np.float32)
    valid = (np.arange(20) < 15).astype(np.float32)
    batch = {"query": query, "gold": gold, "valid": valid}
    params = Tower().init(jax.random.key(0), corpus[:1])

    scores = Tower().apply(params, query) @ Tower().apply(params, corpus).T
    order = np.argsort(-np.asarray(scores), axis=1)[:, :5]
    match = order == gold[:, None]
    recall = (match.any(1) * valid).sum() / valid.sum()
    mrr = (np.where(match.any(1), 1 / (1 + match.argmax(1)), 0) * valid).sum() / valid.sum()

    run = jax.jit(
        jax.shard_map(
            partial(evaluate, k=5),
            mesh=mesh,
            in_specs=(P(), P("query"), P("index")),
            out_specs=P(),
            check_vma=False,
        )
    )
    got = run(
        params,
        jax.device_put(batch, NamedSharding(mesh, P("query"))),
        jax.device_put(corpus, NamedSharding(mesh, P("index", None))),
    )
    return bool(np.allclose(got["recall"], recall)) and bool(np.allclose(got["mrr"], mrr, atol=1e-5))


agrees = main()
