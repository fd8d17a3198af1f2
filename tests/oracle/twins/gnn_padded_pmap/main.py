"""Message passing on padded graphs: one bin of graphs per device, padding carries no weight."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

NODES, EDGES, GRAPHS = 12, 20, 4


class Graphs(NamedTuple):
    nodes: np.ndarray
    senders: np.ndarray
    receivers: np.ndarray
    graph_of_node: np.ndarray
    node_mask: np.ndarray
    graph_mask: np.ndarray
    target: np.ndarray


def init(key, features, width):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "message": jax.random.normal(k1, (2 * features, width)) * 0.3,
        "update": jax.random.normal(k2, (features + width, width)) * 0.3,
        "readout": jax.random.normal(k3, (width,)) * 0.3,
    }


def forward(params, g):
    pairs = jnp.concatenate([g.nodes[g.senders], g.nodes[g.receivers]], axis=-1)
    messages = jax.nn.relu(pairs @ params["message"])
    received = jax.ops.segment_sum(messages, g.receivers, num_segments=NODES)
    hidden = jnp.tanh(jnp.concatenate([g.nodes, received], axis=-1) @ params["update"])
    hidden = hidden * g.node_mask[:, None]
    pooled = jax.ops.segment_sum(hidden, g.graph_of_node, num_segments=GRAPHS)
    return pooled @ params["readout"]


def squared_errors(params, g):
    errors = jnp.square(forward(params, g) - g.target) * g.graph_mask
    return jnp.sum(errors), jnp.sum(g.graph_mask)


def train_step(params, velocity, g, lr=0.05):
    def loss_fn(p):
        errors, count = squared_errors(p, g)
        return errors, count

    (errors, count), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    errors, count, grads = jax.lax.psum((errors, count, grads), axis_name="bins")
    grads = jax.tree.map(lambda x: x / count, grads)
    velocity = jax.tree.map(lambda v, x: 0.9 * v + x, velocity, grads)
    params = jax.tree.map(lambda p, v: p - lr * v, params, velocity)
    return params, velocity, {"mse": errors / count, "graphs": count}


def evaluate(params, g):
    errors, count = squared_errors(params, g)
    rmse = jnp.sqrt(jax.lax.psum(errors, "bins") / jax.lax.psum(count, "bins"))
    return rmse


def make_bin(rng, used):
    per_graph = rng.integers(1, NODES // GRAPHS + 1, size=used)
    real = per_graph.sum()
    graph_of_node = np.full(NODES, GRAPHS - 1)
    graph_of_node[:real] = np.repeat(np.arange(used), per_graph)
    return Graphs(
        nodes=rng.normal(size=(NODES, 3)).astype(np.float32),
        senders=rng.integers(0, real, size=EDGES),
        receivers=rng.integers(0, real, size=EDGES),
        graph_of_node=graph_of_node,
        node_mask=(np.arange(NODES) < real).astype(np.float32),
        graph_mask=(np.arange(GRAPHS) < used).astype(np.float32),
        target=rng.normal(size=GRAPHS).astype(np.float32) * used,
    )


def main():
    rng = np.random.default_rng(0)
    n = jax.local_device_count()
    bins = [make_bin(rng, 1 + i % (GRAPHS - 1)) for i in range(n)]
    batch = jax.tree.map(lambda *xs: np.stack(xs), *bins)
    params = init(jax.random.key(0), 3, 8)

    def whole(p):
        errors, counts = jax.vmap(squared_errors, in_axes=(None, 0))(p, batch)
        return errors.sum() / counts.sum()

    want, grads = jax.value_and_grad(whole)(params)
    alone = jax.tree.map(lambda p, g: p - 0.05 * g, params, grads)

    def copies(tree):
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (n, *x.shape)), tree)

    p_train = jax.pmap(train_step, axis_name="bins")
    p_eval = jax.pmap(evaluate, axis_name="bins")
    rmse = p_eval(copies(params), batch)[0]
    new, velocity, metrics = p_train(copies(params), copies(jax.tree.map(jnp.zeros_like, params)), batch)
    same = jax.tree.map(lambda a, b: np.allclose(a[0], b, atol=1e-4) and np.allclose(a[-1], b, atol=1e-4), new, alone)
    return (
        all(jax.tree.leaves(same))
        and np.allclose(metrics["mse"][0], want, atol=1e-4)
        and np.allclose(rmse, np.sqrt(want), atol=1e-4)
        and metrics["graphs"][0] == batch.graph_mask.sum()
    )


agrees = main()
