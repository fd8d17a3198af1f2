"""Equinox: a model is a tree, and filter_jit tells its arrays from the rest."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key):
        one, two = jax.random.split(key)
        self.norm = eqx.nn.LayerNorm(256)
        self.up = eqx.nn.Linear(256, 1024, key=one)
        self.down = eqx.nn.Linear(1024, 256, key=two)

    def __call__(self, x):
        return x + self.down(jax.nn.gelu(self.up(self.norm(x))))


@eqx.filter_value_and_grad
def loss(blocks, x):
    for block in blocks:
        x = jax.vmap(block)(x)
    return jnp.mean(x**2)


@eqx.filter_jit
def step(blocks, x):
    value, grads = loss(blocks, x)
    return eqx.apply_updates(blocks, jax.tree.map(lambda g: -0.1 * g, grads)), value


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    blocks = eqx.filter_eval_shape(lambda key: [Block(one) for one in jax.random.split(key, 2)], jax.random.key(0))

    def placed(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, P()))

    blocks = jax.tree.map(placed, blocks)
    return step, (blocks, jax.ShapeDtypeStruct((512, 256), jnp.float32, sharding=NamedSharding(mesh, P("data"))))
