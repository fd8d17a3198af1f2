"""An nnx network with BatchNorm and Dropout over a split batch."""

import jax
import jax.numpy as jnp
import optax
from common import abstract, mesh_of
from flax import nnx
from jax.sharding import PartitionSpec as P


class CNN(nnx.Module):
    def __init__(self, rngs):
        self.c1 = nnx.Conv(3, 32, (3, 3), rngs=rngs)
        self.b1 = nnx.BatchNorm(32, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(32 * 64, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.b1(self.c1(x))), (2, 2), (2, 2))
        return self.out(self.drop(x.reshape(x.shape[0], -1)))


def entry():
    mesh = mesh_of(data=8)

    def make():
        net = CNN(nnx.Rngs(0, dropout=1))
        net.train()
        return net, nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)

    graph, state = nnx.split(nnx.eval_shape(make))
    state = jax.tree.map(lambda a: abstract(mesh, P(), *a.shape, dtype=a.dtype), state)

    @jax.jit
    def step(state, x, y):
        net, opt = nnx.merge(graph, state)

        def loss(net):
            return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

        value, grads = nnx.value_and_grad(loss)(net)
        opt.update(net, grads)
        return nnx.state((net, opt)), value

    return step, (state, abstract(mesh, P("data"), 32, 16, 16, 3), abstract(mesh, P("data"), 32, dtype=jnp.int32))
