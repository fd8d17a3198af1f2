"""Messages along split edges, summed into replicated nodes."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(edges=8)

    def forward(ws, nodes, src, dst):
        for w_msg, w_upd in ws:
            msg = jax.nn.relu(nodes[src] @ w_msg)
            agg = jax.ops.segment_sum(msg, dst, num_segments=nodes.shape[0])
            nodes = nodes + jax.nn.relu(agg @ w_upd)
        return nodes

    @jax.jit
    def step(ws, nodes, src, dst, y):
        return jax.grad(lambda ws: jnp.mean((forward(ws, nodes, src, dst).mean(-1) - y) ** 2))(ws)

    ws = [(abstract(mesh, P(), 64, 64), abstract(mesh, P(), 64, 64)) for _ in range(2)]
    return step, (
        ws,
        abstract(mesh, P(), 1024, 64),
        abstract(mesh, P("edges"), 4096, dtype=jnp.int32),
        abstract(mesh, P("edges"), 4096, dtype=jnp.int32),
        abstract(mesh, P(), 1024),
    )
