"""A linen model with a TrainState, absl flags, numpy data and permutations of it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl import app, flags
from flax import linen as nn
from flax.training import train_state
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

FLAGS = flags.FLAGS
flags.DEFINE_integer("batch_size", 32, "rows in a batch")
flags.DEFINE_float("rate", 0.1, "learning rate")


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


def get_datasets():
    images = np.random.default_rng(0).normal(size=(256, 14, 14, 1)).astype(np.float32)
    return {"image": images, "label": np.arange(256) % 10}


def create_state(rng, rate):
    net = Net()
    params = net.init(rng, jnp.ones((1, 14, 14, 1)))["params"]
    return train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(rate, 0.9))


@jax.jit
def train_step(state, batch):
    def loss(params):
        logits = state.apply_fn({"params": params}, batch["image"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean()

    value, grads = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=grads), value


def train_epoch(state, data, batch_size, rng, split):
    steps = len(data["image"]) // batch_size
    perms = jax.random.permutation(rng, len(data["image"]))[: steps * batch_size]
    for perm in perms.reshape(steps, batch_size):
        batch = {name: split(values[np.asarray(perm)]) for name, values in data.items()}
        state, value = train_step(state, batch)
    return state, value


def main(argv):
    del argv
    data = get_datasets()
    mesh = Mesh(np.array(jax.devices()), ("data",))
    rng, init_rng = jax.random.split(jax.random.key(0))
    state = jax.device_put(create_state(init_rng, FLAGS.rate), NamedSharding(mesh, P()))

    def split(values):
        return jax.device_put(values, NamedSharding(mesh, P("data")))

    for epoch in range(3):
        rng, epoch_rng = jax.random.split(rng)
        state, value = train_epoch(state, data, FLAGS.batch_size, epoch_rng, split)
        print(epoch, value)


if __name__ == "__main__":
    app.run(main)
