"""CPU seconds and memory of traces of a transformer's training step: the table in docs/trace.md.

    python tests/bench/trace_times.py [LAYERS …]

Counts what the forked request of a warm process uses, and what this process uses to read its answer.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "server"))

from meshlens.devices.topology import parse_topology
from meshlens.tracing.machines import machine_of
from meshlens.tracing.request import Limits, TraceRequest
from meshlens.tracing.tracer import trace
from meshlens.tracing.warm import WarmWorkers

ROUNDS = 5
PROGRAM = """\
import jax, jax.numpy as jnp, numpy as np, optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

LAYERS, D, HEADS, FF, VOCAB, BATCH, SEQ = %d, 1024, 16, 4096, 32000, 64, 512
SPECS = dict(q=P(None, "model"), k=P(None, "model"), v=P(None, "model"), o=P("model"), up=P(None, "model"),
             down=P("model"), before=P(), after=P())
SHAPES = dict(q=(D, HEADS, D // HEADS), k=(D, HEADS, D // HEADS), v=(D, HEADS, D // HEADS), o=(HEADS, D // HEADS, D),
              up=(D, FF), down=(FF, D), before=(D,), after=(D,))

def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)

def block(p, x):
    cast = lambda name: p[name].astype(x.dtype)
    h = norm(x, p["before"])
    q, k, v = (jnp.einsum("bsd,dhk->bshk", h, cast(name)) for name in "qkv")
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k) / q.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores.astype(jnp.float32), -1e9), -1).astype(x.dtype)
    x = x + jnp.einsum("bshk,hkd->bsd", jnp.einsum("bhqt,bthk->bqhk", weights, v), cast("o"))
    return x + jax.nn.gelu(norm(x, p["after"]) @ cast("up")) @ cast("down")

def loss_fn(params, tokens):
    x = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
    for p in params["layers"]:
        x = block(p, x)
    logits = (norm(x, params["scale"]) @ params["out"].astype(x.dtype)).astype(jnp.float32)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()

def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(4, -1), ("data", "model"))
    tx = optax.adamw(3e-4)

    def array(spec, *shape, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    def step(params, state, tokens):
        loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    layers = [{name: array(SPECS[name], *shape) for name, shape in SHAPES.items()} for _ in range(LAYERS)]
    params = dict(embed=array(P("model"), VOCAB, D), layers=layers, scale=array(P(), D))
    params["out"] = array(P(None, "model"), D, VOCAB)
    state = optax.tree_map_params(
        tx, lambda leaf, like: like, jax.eval_shape(tx.init, params), params, transform_non_params=lambda leaf: leaf
    )
    return jax.jit(step), (params, state, array(P("data"), BATCH, SEQ + 1, dtype=jnp.int32))
"""


def main(asked: list[int]) -> None:
    """Prints a row for each number of layers and level."""
    target = parse_topology("v5e-16")
    with tempfile.TemporaryDirectory() as room:
        for layers in asked:
            file = Path(room, f"transformer_{layers}.py")
            file.write_text(PROGRAM % layers)
            for level in (1, 2):
                request = TraceRequest(
                    sys.executable, file.parent, file, "entry", target,
                    level=level, machine=machine_of(target), limits=Limits(300.0, 8 << 30),
                )  # fmt: skip
                workers = WarmWorkers()
                first = _used(request, workers)
                rounds = [_used(request, workers) for _ in range(ROUNDS)]
                print(
                    f"{layers:3} layers, level {level}: {statistics.median(rounds):.2f} CPU s "
                    f"({min(rounds):.2f} to {max(rounds):.2f}), the first trace {first:.2f}; "
                    f"warm process {_memory() >> 20} MiB",
                    flush=True,
                )
                workers.end_all()


def _used(request: TraceRequest, workers: WarmWorkers) -> float:
    """Returns the CPU seconds of a trace, in the processes of the request and in this one."""
    own, begun = time.process_time(), _cpu(_children(os.getpid()))
    found = trace(request, workers)
    assert found.level == ("traced", "partitioned")[request.level - 1], found.errors
    return time.process_time() - own + _cpu(_children(os.getpid())) - begun


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _cpu(processes: list[int]) -> float:
    """Returns the CPU seconds of processes and of the children that they have reaped."""
    total = 0
    for pid in processes:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _memory() -> int:
    """Returns the bytes of this process's warm processes; a shared page is divided among its sharers."""
    rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in _children(os.getpid())]
    return sum(int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) for text in rollups) << 10


if __name__ == "__main__":
    main([int(number) for number in sys.argv[1:]] or [1, 4, 12])
