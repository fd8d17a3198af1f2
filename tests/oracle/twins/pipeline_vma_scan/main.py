"""A pipeline of residual stages in one shard_map: microbatches rotate through the devices in a scan."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Stage(NamedTuple):
    weight: jax.Array
    bias: jax.Array


class PipelineConfig(NamedTuple):
    axis: str = "stage"
    stages: int = 8
    microbatches: int = 6
    rows: int = 4
    width: int = 5


def apply_stage(stage, x):
    return x + jnp.tanh(x @ stage.weight + stage.bias)


def rotate(x, axis):
    n = lax.axis_size(axis)
    return lax.ppermute(x, axis, [(i, (i + 1) % n) for i in range(n)])


def pipelined(cfg: PipelineConfig) -> Callable:
    last = cfg.stages - 1

    def run(stages, inputs):
        stage = jax.tree.map(lambda p: p[0], stages)
        me = lax.axis_index(cfg.axis)

        def tick(carry, t):
            held, outputs = carry
            fresh = inputs[jnp.clip(t, 0, cfg.microbatches - 1)]
            x = apply_stage(stage, jnp.where(me == 0, fresh, held))
            slot = jnp.clip(t - last, 0, cfg.microbatches - 1)
            done = jnp.logical_and(me == last, t >= last)
            outputs = outputs.at[slot].set(jnp.where(done, x, outputs[slot]))
            return (rotate(x, cfg.axis), outputs), None

        held = lax.pcast(jnp.zeros(inputs.shape[1:]), (cfg.axis,), to="varying")
        outputs = lax.pcast(jnp.zeros(inputs.shape), (cfg.axis,), to="varying")
        ticks = jnp.arange(cfg.microbatches + last)
        (_, outputs), _ = lax.scan(tick, (held, outputs), ticks)
        return lax.psum(jnp.where(me == last, outputs, 0.0), cfg.axis)

    return run


def loss_fn(forward, stages, inputs, targets):
    return jnp.mean(jnp.square(forward(stages, inputs) - targets))


def main():
    cfg = PipelineConfig()
    mesh = Mesh(np.array(jax.devices()), (cfg.axis,))
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    stages = Stage(jax.random.normal(k1, (cfg.stages, cfg.width, cfg.width)) * 0.4, jnp.ones((cfg.stages, cfg.width)))
    inputs = jax.random.normal(k2, (cfg.microbatches, cfg.rows, cfg.width))
    targets = jax.random.normal(k3, inputs.shape)

    def straight(stages, inputs):
        for i in range(cfg.stages):
            inputs = apply_stage(jax.tree.map(lambda p: p[i], stages), inputs)
        return inputs

    want, want_grads = jax.value_and_grad(functools.partial(loss_fn, straight))(stages, inputs, targets)
    forward = jax.shard_map(pipelined(cfg), mesh=mesh, in_specs=(P(cfg.axis), P()), out_specs=P())
    step = jax.jit(jax.value_and_grad(functools.partial(loss_fn, forward)))
    placed = jax.device_put(stages, NamedSharding(mesh, P(cfg.axis)))
    loss, grads = step(placed, inputs, targets)
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), grads, want_grads)
    return bool(np.allclose(loss, want, atol=1e-4)) and all(jax.tree.leaves(close))


agrees = main()
