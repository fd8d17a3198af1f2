"""A script of nnx without functions around its loop."""

import jax
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
split = NamedSharding(mesh, P("data"))


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(64, 256, rngs=rngs)
        self.norm = nnx.BatchNorm(256, rngs=rngs)
        self.second = nnx.Linear(256, 10, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.norm(self.first(x))))


model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    value, grads = nnx.value_and_grad(loss)(model)
    optimizer.update(model, grads)
    return value


def batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield rng.normal(size=(48, 64)).astype(np.float32), rng.integers(0, 10, 48)


for step, (x, y) in enumerate(batches(3)):
    x, y = jax.device_put((x, y), split)
    value = train_step(model, optimizer, x, y)
    print(step, value)
