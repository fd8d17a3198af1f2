# convert: train_step
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(5, 16, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.b = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.b(self.drop(nnx.gelu(self.a(x))))[:, 0]


def train_step(model, optimizer, metrics, batch):
    def loss_fn(model):
        return jnp.mean((model(batch["x"]) - batch["y"]) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    metrics.update(values=loss)
    optimizer.update(model, grads)
    return loss


def main():
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    metrics = nnx.metrics.Average()
    losses = []
    for step in range(6):
        x = jax.random.normal(jax.random.key(step), (24, 5))
        losses.append(train_step(model, optimizer, metrics, {"x": x, "y": x.sum(axis=1)}))
    return jnp.stack(losses), nnx.state(model, nnx.Param)


losses, weights = main()
weights = jax.tree.leaves(weights)
