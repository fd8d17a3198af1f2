"""A small convolutional classifier in nnx, data parallel with synchronized batch norm."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


class ConvBlock(nnx.Module):
    def __init__(self, cin, cout, *, rngs: nnx.Rngs, axis_name=None):
        self.conv = nnx.Conv(cin, cout, kernel_size=(3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(cout, momentum=0.9, axis_name=axis_name, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.conv(x)))


class CNN(nnx.Module):
    def __init__(self, num_classes, *, rngs: nnx.Rngs, axis_name=None):
        self.block1 = ConvBlock(1, 4, rngs=rngs, axis_name=axis_name)
        self.block2 = ConvBlock(4, 8, rngs=rngs, axis_name=axis_name)
        self.head = nnx.Linear(8, num_classes, rngs=rngs)

    def __call__(self, x):
        x = self.block2(self.block1(x))
        return self.head(x.mean((1, 2)))


def loss_fn(params, rest, graphdef, images, labels):
    model = nnx.merge(graphdef, params, rest, copy=True)
    logits = model(images)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    _, _, rest = nnx.split(model, nnx.Param, ...)
    return loss, rest


def make_step(graphdef, tx):
    def step(params, rest, opt_state, images, labels):
        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (loss, rest), grads = grad_fn(params, rest, graphdef, images, labels)
        grads = jax.lax.pmean(grads, "data")
        loss = jax.lax.pmean(loss, "data")
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), rest, opt_state, loss

    return jax.jit(
        jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(P(), P(), P(), P("data"), P("data")),
            out_specs=(P(), P(), P(), P()),
            check_vma=False,
        )
    )


def main():
    model = CNN(10, rngs=nnx.Rngs(0), axis_name="data")
    alone = CNN(10, rngs=nnx.Rngs(0))
    tx = optax.sgd(0.1)
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)
    images = jax.random.normal(jax.random.key(1), (32, 8, 8, 1)) * jnp.arange(1, 33)[:, None, None, None]
    labels = jnp.arange(32) % 10
    opt_state = tx.init(params)
    new_params, new_rest, opt_state, loss = make_step(graphdef, tx)(params, rest, opt_state, images, labels)

    graphdef1, params1, rest1 = nnx.split(alone, nnx.Param, ...)
    (loss1, rest1), grads1 = jax.value_and_grad(loss_fn, has_aux=True)(params1, rest1, graphdef1, images, labels)
    updates, _ = tx.update(grads1, tx.init(params1), params1)
    params1 = optax.apply_updates(params1, updates)
    same = functools.partial(jnp.allclose, rtol=1e-3, atol=1e-4)
    pairs = zip(jax.tree.leaves((new_params, new_rest, loss)), jax.tree.leaves((params1, rest1, loss1)))
    return all(bool(same(a, b)) for a, b in pairs)


agrees = main()
