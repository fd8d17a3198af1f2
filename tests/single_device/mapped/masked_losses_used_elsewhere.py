# to: pmap shard_map
# convert: train_step make_step evaluate
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(8, 32, rngs=rngs)
        self.l2 = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))


def masked_loss(model, batch):
    losses = optax.softmax_cross_entropy_with_integer_labels(model(batch["x"]), batch["y"])
    return jnp.sum(losses * batch["mask"]) / jnp.sum(batch["mask"])


@nnx.jit
def train_step(model, optimizer, batch):
    loss, grads = nnx.value_and_grad(masked_loss)(model, batch)
    optimizer.update(model, grads)
    return loss


def mlp_loss(model, x, y, mask):
    losses = (jax.vmap(model)(x)[:, 0] - y) ** 2
    return jnp.sum(losses * mask) / jnp.sum(mask)


@eqx.filter_jit
def make_step(model, x, y, mask, opt_state):
    loss, grads = eqx.filter_value_and_grad(mlp_loss)(model, x, y, mask)
    updates, opt_state = optim.update(grads, opt_state)
    model = eqx.apply_updates(model, updates)
    return loss, model, opt_state


@eqx.filter_jit
def evaluate(model, x, y, mask):
    return mlp_loss(model, x, y, mask)


optim = optax.sgd(0.1)


def data(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        x = rng.normal(size=(16, 8)).astype(np.float32)
        yield x, np.sin(x[:, 0]), (rng.random(16) > 0.4).astype(np.float32)


rng = np.random.default_rng(0)
net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-2), wrt=nnx.Param)
losses = []
for _ in range(4):
    batch = {
        "x": rng.normal(size=(16, 8)).astype(np.float32),
        "y": rng.integers(0, 4, 16),
        "mask": (rng.random(16) > 0.4).astype(np.float32),
    }
    losses.append(float(train_step(net, optimizer, batch)))
after = float(masked_loss(net, batch))
mlp = eqx.nn.MLP(8, 1, 16, 2, key=jax.random.key(0))
opt_state = optim.init(eqx.filter(mlp, eqx.is_array))
steps = []
for x, y, mask in data(4):
    loss, mlp, opt_state = make_step(mlp, x, y, mask, opt_state)
    steps.append(float(loss))
found = [float(evaluate(mlp, x, y, mask)) for x, y, mask in data(1)]
