"""A feed-forward block split over the model axis, rows over the data axis, written with explicit collectives."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@jax.tree_util.register_dataclass
@dataclass
class Block:
    gate: jax.Array
    up: jax.Array
    down: jax.Array
    bias: jax.Array


SPECS = Block(gate=P(None, "tp"), up=P(None, "tp"), down=P("tp", None), bias=P())


def init(key, width, hidden):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    scale = width**-0.5
    return Block(
        gate=jax.random.normal(k1, (width, hidden)) * scale,
        up=jax.random.normal(k2, (width, hidden)) * scale,
        down=jax.random.normal(k3, (hidden, width)) * hidden**-0.5,
        bias=jax.random.normal(k4, (width,)) * 0.1,
    )


def feed_forward(block, x, reduce):
    h = jax.nn.silu(x @ block.gate) * (x @ block.up)
    return reduce(h @ block.down) + block.bias


def loss_fn(block, x, y, reduce):
    return jnp.mean(jnp.square(x + feed_forward(block, x, reduce) - y))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def sum_forward(x, axis):
    return jax.lax.psum(x, axis)


sum_forward.defvjp(lambda x, axis: (jax.lax.psum(x, axis), None), lambda axis, _, g: (g,))


def train_step(block, x, y, lr):
    loss, grads = jax.value_and_grad(loss_fn)(block, x, y, lambda h: sum_forward(h, "tp"))
    grads = jax.lax.pmean(grads, "dp")
    loss = jax.lax.pmean(loss, "dp")
    norm = jnp.sqrt(jax.lax.psum(optax.global_norm((grads.gate, grads.up, grads.down)) ** 2, "tp"))
    block = jax.tree.map(lambda p, g: p - lr * g, block, grads)
    return block, {"loss": loss, "norm": norm}


def main():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
    block = init(jax.random.key(0), 6, 16)
    x = jax.random.normal(jax.random.key(1), (12, 6)) * jnp.arange(1, 13)[:, None] / 4
    y = jnp.sin(x)
    want, grads = jax.value_and_grad(loss_fn)(block, x, y, lambda h: h)
    alone = jax.tree.map(lambda p, g: p - 0.05 * g, block, grads)
    norm = optax.global_norm((grads.gate, grads.up, grads.down))

    step = jax.jit(
        jax.shard_map(
            train_step,
            mesh=mesh,
            in_specs=(SPECS, P("dp"), P("dp"), P()),
            out_specs=(SPECS, P()),
            check_vma=False,
        )
    )
    placed = jax.tree.map(lambda p, s: jax.device_put(p, NamedSharding(mesh, s)), block, SPECS)
    new, logs = step(placed, x, y, 0.05)
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), new, alone)
    return (
        all(jax.tree.leaves(close))
        and bool(np.allclose(logs["loss"], want, rtol=1e-4))
        and bool(np.allclose(logs["norm"], norm, rtol=1e-4))
    )


agrees = main()
