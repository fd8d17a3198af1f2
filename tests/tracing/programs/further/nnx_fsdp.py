"""An nnx model and its optimizer as one state, split over the devices."""

import jax
import jax.numpy as jnp
import optax
from common import abstract, mesh_of
from flax import nnx
from jax.sharding import PartitionSpec as P


class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.norm = nnx.LayerNorm(d, rngs=rngs)
        self.up = nnx.Linear(d, 4 * d, rngs=rngs)
        self.down = nnx.Linear(4 * d, d, rngs=rngs)

    def __call__(self, x):
        return x + self.down(nnx.gelu(self.up(self.norm(x))))


class Net(nnx.Module):
    def __init__(self, d, n, rngs):
        self.blocks = nnx.List([Block(d, rngs) for _ in range(n)])
        self.head = nnx.Linear(d, 16, rngs=rngs)

    def __call__(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x)


def entry():
    mesh = mesh_of(fsdp=8)

    def make():
        net = Net(256, 3, nnx.Rngs(0))
        return net, nnx.Optimizer(net, optax.adamw(1e-3), wrt=nnx.Param)

    graph, state = nnx.split(nnx.eval_shape(make))

    def place(a):
        k = next((i for i, n in enumerate(a.shape) if n % 8 == 0 and n >= 256), None)
        spec = P() if k is None else P(*([None] * k), "fsdp")
        return abstract(mesh, spec, *a.shape, dtype=a.dtype)

    state = jax.tree.map(place, state)

    @jax.jit
    def step(state, x, y):
        net, opt = nnx.merge(graph, state)

        def loss(net):
            return jnp.mean((net(x) - y) ** 2)

        value, grads = nnx.value_and_grad(loss)(net)
        opt.update(net, grads)
        return nnx.state((net, opt)), value

    return step, (state, abstract(mesh, P("fsdp"), 64, 256), abstract(mesh, P("fsdp"), 64, 16))
