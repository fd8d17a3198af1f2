"""Lesson 11: a training run of 200 steps, an MLP that learns to tell two spirals apart."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def without_mapped_axis(function, in_axes=0, out_axes=0):
    """Calls a function as pmap does: without the mapped axis, which has size 1 on a shard."""

    def each(change, axes, values):
        def leaves(axis, value):
            return value if axis is None else jax.tree.map(lambda x: change(x, axis), value)

        return jax.tree.map(leaves, axes, values, is_leaf=lambda axis: axis is None)

    def on_shard(*args):
        return each(jnp.expand_dims, out_axes, function(*each(jnp.squeeze, in_axes, args)))

    return on_shard


def shard(tree):
    """Gives each device a block of every array's rows, or all rows if they do not divide evenly."""
    count = jax.local_device_count()
    rows = {x.shape[0] for x in jax.tree.leaves(tree)}
    if len(rows) > 1:
        raise ValueError(f"the arrays of one batch have different numbers of rows: {sorted(rows)}")

    def split(x):
        traced = isinstance(x, jax.core.Tracer)
        if not traced and getattr(x, "is_fully_replicated", True):
            x = jax.device_get(x)
        if x.shape[0] % count:
            return jnp.broadcast_to(x, (count, *x.shape))
        return x.reshape(count, -1, *x.shape[1:])

    return jax.tree.map(split, tree)


STEPS, ROWS, RATE, DECAY = 200, 512, 0.2, 0.9


def spirals(random):
    """Returns points on two spirals, and which of the two each point is on."""
    side = random.integers(0, 2, ROWS)
    angle = random.uniform(0.5, 3.0, ROWS)
    turn = 2.5 * angle + np.pi * side
    points = np.stack([angle * np.cos(turn), angle * np.sin(turn)], axis=1) / 3.0
    noisy = points + 0.02 * random.normal(size=points.shape)
    return {"points": noisy.astype(np.float32), "side": side.astype(np.float32)}


def new_params(random, sizes=(2, 64, 64, 1)):
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        weights = random.normal(size=(fan_in, fan_out)) * np.sqrt(2.0 / fan_in)
        layers.append({"w": weights.astype(np.float32), "b": np.zeros(fan_out, np.float32)})
    return layers


def predict(params, points):
    hidden = points
    for layer in params[:-1]:
        hidden = jax.nn.relu(hidden @ layer["w"] + layer["b"])
    return (hidden @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, batch):
    logits = predict(params, batch["points"])
    errors = jnp.maximum(logits, 0) - logits * batch["side"] + jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return jnp.mean(errors)


mesh = Mesh(np.array(jax.devices()), ("batch",))


@jax.jit
@functools.partial(
    jax.shard_map, mesh=mesh, in_specs=(P(), P(), P("batch")), out_specs=P(), check_vma=False
)
@functools.partial(without_mapped_axis, in_axes=(None, None, 0), out_axes=None)
def train_step(params, speed, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    speed = jax.tree.map(lambda s, g: DECAY * s - RATE * g, speed, grads)
    params = jax.tree.map(lambda p, s: p + s, params, speed)
    return params, speed, loss


random = np.random.default_rng(0)
params = new_params(random)
speed = jax.tree.map(np.zeros_like, params)
losses = []
for step in range(STEPS):
    params, speed, loss = train_step(params, speed, shard(spirals(random)))
    losses.append(float(loss))
    if step % 20 == 0 or step == STEPS - 1:
        print(f"step {step:3}  loss {losses[-1]:.4f}")
