"""Writes JAX training code of a given length, the same bytes for the same seed: layers, losses, mapped steps, loops.

    python tests/bench/generate.py --lines 5000 > module.py            one module
    python tests/bench/generate.py --lines 50000 --folder DIR          a package whose modules import each other

The programs are correct: whatever MeshLens reports on them is a false alarm.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path

_LINES_PER_MODULE = 400

_HEAD = '''"""Training code, part {part}."""

from __future__ import annotations

import functools
import logging
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
{imports}
log = logging.getLogger(__name__)

BATCH_AXIS = "batch"


def reduce_metrics(metrics: dict[str, Any], axis_name: str = "batch") -> dict[str, Any]:
    """Averages metrics over the devices."""
    return jax.tree_util.tree_map(lambda value: lax.pmean(value, axis_name), metrics)

'''

_CONFIG = '''
@dataclass(frozen=True)
class {Name}Config:
    """Sizes and rates of the {name}."""

    width: int = {width}
    depth: int = {small}
    heads: int = 8
    dropout: float = {rate}
    learning_rate: float = 3e-4
    warmup: int = {width}
    axis_name: str = "batch"

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def scaled(self, factor: float) -> {Name}Config:
        return {Name}Config(width=int(self.width * factor), depth=self.depth, dropout=self.dropout)

'''

_LAYER = '''
def init_{name}(key: jax.Array, width: int = {width}) -> dict[str, jax.Array]:
    """Parameters of the {name}."""
    keys = jax.random.split(key, 3)
    scale = width**-0.5
    return {{
        "inner": jax.random.normal(keys[0], (width, 4 * width)) * scale,
        "outer": jax.random.normal(keys[1], (4 * width, width)) * scale,
        "gate": jax.random.normal(keys[2], (width, width)) * scale,
        "bias": jnp.zeros((width,)),
    }}


def apply_{name}(params: dict[str, jax.Array], x: jax.Array, *, train: bool = False, rng: Any = None) -> jax.Array:
    """Applies the {name} to activations of shape (batch, length, width)."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    normed = (x - mean) * lax.rsqrt(variance + 1e-6)
    hidden = jax.nn.gelu(normed @ params["inner"])
    if train and rng is not None:
        kept = jax.random.bernoulli(rng, 1.0 - {rate}, hidden.shape)
        hidden = jnp.where(kept, hidden / (1.0 - {rate}), 0.0)
    gate = jax.nn.sigmoid(normed @ params["gate"])
    # The residual keeps gradients alive through deep stacks.
    return x + gate * (hidden @ params["outer"]) + params["bias"]

'''

_STEP = '''
class {Name}State(NamedTuple):
    """What the {name}'s training carries from step to step."""

    step: jax.Array
    params: dict[str, jax.Array]
    rng: jax.Array


def {name}_loss(params: dict[str, jax.Array], batch: dict[str, jax.Array], rng: jax.Array) -> tuple[Any, Any]:
    """Squared error with a penalty on the weights."""
    outputs = {layer}(params, batch["inputs"], train=True, rng=rng)
    error = jnp.mean(jnp.square(outputs - batch["targets"]))
    penalty = sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree_util.tree_leaves(params))
    return error + {rate} * penalty, {{"error": error, "penalty": penalty}}


def {name}_step(state: {Name}State, batch: dict[str, jax.Array]) -> tuple[{Name}State, dict[str, Any]]:
    """One step on each device's share of the batch."""
    rng = jax.random.fold_in(state.rng, lax.axis_index("batch"))
    (_, metrics), grads = jax.value_and_grad({name}_loss, has_aux=True)(state.params, batch, rng)
    grads = lax.pmean(grads, axis_name={axis})
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree_util.tree_leaves(grads)))
    factor = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    params = jax.tree_util.tree_map(lambda p, g: p - 1e-3 * factor * g, state.params, grads)
    metrics = reduce_metrics(dict(metrics, norm=norm))
    return {Name}State(state.step + 1, params, state.rng), metrics


p_{name}_step = jax.pmap({name}_step, axis_name="batch", donate_argnums=(0,))

'''

_SHARDED = '''
@functools.partial(jax.jit, static_argnames=("size",))
def {name}_ring(x: jax.Array, size: int = {small}) -> jax.Array:
    """Sums shifted copies around the ring of devices."""
    mesh = Mesh(np.array(jax.devices()).reshape(1, -1), ("data", "model"))

    def rotate(block: jax.Array) -> jax.Array:
        total = block
        for shift in range(1, {small}):
            count = lax.psum(1, "model")
            block = lax.ppermute(block, "model", [(i, (i + shift) % {small}) for i in range({small})])
            total = total + block / count
        return lax.pmean(total, ("data", "model"))

    spec = P("data", "model")
    mapped = jax.shard_map(rotate, mesh=mesh, in_specs=(spec,), out_specs=P(), check_vma=False)
    return mapped(jax.device_put(x, NamedSharding(mesh, spec)))

'''

_LOOP = '''
def run_{name}(state: Any, batches: Any, *, steps: int = {width}, every: int = 100) -> tuple[Any, list[float]]:
    """Drives a mapped step and writes what it reports."""
    history: list[float] = []
    started = time.perf_counter()
    for number, batch in zip(range(steps), batches):
        shards = jax.tree_util.tree_map(lambda x: x.reshape((jax.local_device_count(), -1) + x.shape[1:]), batch)
        state, metrics = p_{step}_step(state, shards)
        if number % every == 0 and jax.process_index() == 0:
            values = {{key: float(np.mean(value)) for key, value in jax.device_get(metrics).items()}}
            history.append(values["error"])
            log.info("step %d after %.1f s: %s", number, time.perf_counter() - started, values)
    return state, history

'''

_SCAN = '''
def {name}_unroll(params: dict[str, jax.Array], xs: jax.Array, carry: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Runs the {name} over time, recomputing activations on the way back."""

    @jax.checkpoint
    def body(state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        candidate = jnp.tanh(state @ params["gate"] + x + params["bias"])
        mixed = {rate} * candidate + (1.0 - {rate}) * state
        return mixed, jnp.mean(mixed, axis=-1)

    final, outputs = lax.scan(body, carry, xs)
    batched = jax.vmap(lambda row: row - lax.pmean(row, "rows"), axis_name="rows")(final)
    return batched, outputs

'''

_NOUNS = ["attention", "decoder", "encoder", "router", "expert", "embedding", "mixer", "adapter", "critic", "actor"]
_WORDS = ["local", "global", "causal", "gated", "fused", "paged", "rotary", "shared", "sparse", "tied", "wide", "deep"]


def module(lines: int, seed: int, imports: str = "", part: int = 0) -> str:
    """Returns one module with about this number of lines."""
    chance = random.Random(seed)
    text = [_HEAD.format(part=part, imports=imports)]
    count = text[0].count("\n")
    layers: list[str] = []
    steps: list[str] = []
    kinds: list[tuple[str, Callable[[], bool]]] = [
        (_LAYER, lambda: True),
        (_STEP, lambda: bool(layers)),
        (_SHARDED, lambda: True),
        (_LOOP, lambda: bool(steps)),
        (_SCAN, lambda: True),
        (_CONFIG, lambda: True),
    ]
    number = 0
    while count < lines:
        template = chance.choice([kind for kind, possible in kinds if possible()])
        number += 1
        name = f"{chance.choice(_WORDS)}_{chance.choice(_NOUNS)}_{number}"
        piece = template.format(
            name=name,
            Name="".join(word.capitalize() for word in name.split("_")),
            width=chance.choice([256, 512, 1024]),
            small=chance.choice([2, 4, 8]),
            rate=chance.choice(["0.1", "0.01", "0.25"]),
            axis=chance.choice(['"batch"', "BATCH_AXIS"]),
            layer=f"apply_{chance.choice(layers)}" if layers else "",
            step=chance.choice(steps) if steps else "",
        )
        if template is _LAYER:
            layers.append(name)
        elif template is _STEP:
            steps.append(name)
        text.append(piece)
        count += piece.count("\n")
    return "".join(text).rstrip("\n") + "\n"


def package(folder: Path, lines: int, seed: int) -> int:
    """Writes a package with about this number of lines; returns the exact number."""
    chance = random.Random(seed)
    root = folder / "training"
    root.mkdir(parents=True, exist_ok=True)
    (root / "__init__.py").write_text("")
    written = 0
    part = 0
    while written < lines:
        known = chance.sample(range(part), min(3, part))
        imports = "".join(f"from training.part{other:03d} import reduce_metrics as reduce_{other}\n" for other in known)
        text = module(min(_LINES_PER_MODULE, lines - written), seed * 1000 + part, imports, part)
        (root / f"part{part:03d}.py").write_text(text)
        written += text.count("\n")
        part += 1
    return written


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.folder is None:
        sys.stdout.write(module(arguments.lines, arguments.seed))
    else:
        package(arguments.folder, arguments.lines, arguments.seed)


if __name__ == "__main__":
    _main()
