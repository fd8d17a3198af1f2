"""Equinox modules with tensor-parallel weights under vmap."""

import equinox as eqx
import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


class MLP(eqx.Module):
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.up, self.down = eqx.nn.Linear(256, 1024, key=a), eqx.nn.Linear(1024, 256, key=b)
        self.norm = eqx.nn.LayerNorm(256)

    def __call__(self, x):
        return x + self.down(jax.nn.gelu(self.up(self.norm(x))))


def entry():
    mesh = mesh_of(data=2, model=4)
    models = [eqx.filter_eval_shape(MLP, jax.random.key(i)) for i in range(2)]

    def place(m):
        def split(layer, weight, bias):
            arrays = (abstract(mesh, weight, *layer.weight.shape), abstract(mesh, bias, *layer.bias.shape))
            return eqx.tree_at(lambda one: (one.weight, one.bias), layer, arrays)

        m = eqx.tree_at(
            lambda m: (m.up, m.down), m, (split(m.up, P("model"), P("model")), split(m.down, P(None, "model"), P()))
        )
        return eqx.tree_at(
            lambda m: (m.norm.weight, m.norm.bias), m, (abstract(mesh, P(), 256), abstract(mesh, P(), 256))
        )

    models = [place(m) for m in models]
    arrays, static = eqx.partition(models, lambda a: isinstance(a, jax.ShapeDtypeStruct))

    @jax.jit
    def step(arrays, x, y):
        def loss(arrays):
            h = x
            for m in eqx.combine(arrays, static):
                h = jax.vmap(m)(h)
            return jnp.mean((h - y) ** 2)

        value, grads = jax.value_and_grad(loss)(arrays)
        return jax.tree.map(lambda p, g: p - 0.1 * g, arrays, grads), value

    return step, (arrays, abstract(mesh, P("data"), 32, 256), abstract(mesh, P("data"), 32, 256))
