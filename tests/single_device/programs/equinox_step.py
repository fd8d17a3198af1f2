# convert: make_step evaluate
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Net(eqx.Module):
    layers: list
    scale: float

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 8, key=a), jax.nn.relu, eqx.nn.Linear(8, 1, key=b)]
        self.scale = 2.0

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.scale * x[0]


def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


@eqx.filter_jit
def make_step(model, opt_state, x, y):
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, value


@eqx.filter_jit
def evaluate(model, x, y):
    return jnp.mean(jnp.abs(jax.vmap(model)(x) - y))


optim = optax.adamw(1e-2)
model = Net(jax.random.key(0))
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
data = np.random.default_rng(0).normal(size=(80, 5)).astype(np.float32)
values = []
for step in range(5):
    rows = data[16 * step : 16 * (step + 1)]
    model, opt_state, value = make_step(model, opt_state, rows[:, :4], rows[:, 4])
    values.append(value.item())
error = evaluate(model, data[:, :4], data[:, 4]).item()
weights = np.asarray(model.layers[0].weight)
