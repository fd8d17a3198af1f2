"""flax.nnx: a model and its optimizer are objects; the step is jitted with their state."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(256, rngs=rngs)
        self.up = nnx.Linear(256, 1024, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(1024, 256, use_bias=False, rngs=rngs)

    def __call__(self, x):
        h = nnx.gelu(self.up(self.norm(x)))
        return x + self.down(h)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = Perceptron(rngs)
        self.second = Perceptron(rngs)
        self.head = nnx.Linear(256, 32, rngs=rngs)

    def __call__(self, x):
        return self.head(self.second(self.first(x)))


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows = NamedSharding(mesh, P("data"))
    abstract = nnx.eval_shape(lambda: Model(nnx.Rngs(0)))
    graph, state = nnx.split(abstract)

    def placed(leaf):
        cut = leaf.ndim == 2 and leaf.shape[0] % mesh.size == 0
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=rows if cut else NamedSharding(mesh, P()))

    state = jax.tree.map(placed, state)
    tx = optax.sgd(0.1)
    moments = jax.eval_shape(tx.init, state)

    def step(state, moments, x, y):
        def loss(state):
            model = nnx.merge(graph, state)
            return jnp.mean((model(x) - y) ** 2)

        value, grads = jax.value_and_grad(loss)(state)
        updates, moments = tx.update(grads, moments, state)
        return optax.apply_updates(state, updates), moments, value

    x = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=rows)
    y = jax.ShapeDtypeStruct((128, 32), jnp.float32, sharding=rows)
    return jax.jit(step), (state, moments, x, y)


@nnx.jit
def train(model, x, y):
    def loss(model):
        return jnp.mean((model(x) - y) ** 2)

    value, grads = nnx.value_and_grad(loss)(model)
    params = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads))
    return value


def objects():
    rows = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), P("data"))
    model = nnx.eval_shape(lambda: Model(nnx.Rngs(0)))
    x = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=rows)
    return train, (model, x, jax.ShapeDtypeStruct((128, 32), jnp.float32, sharding=rows))
