# convert: make_step accuracy
"""Gradients of the mean over a mapped convolution, in a loop that a function runs and whose model has its name."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Net(eqx.Module):
    conv: eqx.nn.Conv2d
    out: eqx.nn.Linear

    def __init__(self, key):
        one, other = jax.random.split(key)
        self.conv = eqx.nn.Conv2d(1, 2, 3, key=one)
        self.out = eqx.nn.Linear(32, 3, key=other)

    def __call__(self, image):
        return self.out(jax.nn.relu(self.conv(image)).reshape(-1))


def loss(model, images, labels):
    logits = jax.vmap(model)(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def accuracy(model, images, labels):
    return jnp.mean(jnp.argmax(jax.vmap(model)(images), axis=1) == labels)


def train(model, optim, steps):
    opt_state = optim.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def make_step(model, opt_state, images, labels):
        value, grads = eqx.filter_value_and_grad(loss)(model, images, labels)
        updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, value

    for step in range(steps):
        images = jax.random.normal(jax.random.key(step), (16, 1, 6, 6))
        model, opt_state, value = make_step(model, opt_state, images, jnp.arange(16) % 3)
    return model, value, accuracy(model, images, jnp.arange(16) % 3)


model = Net(jax.random.key(9))
model, value, right = train(model, optax.adam(1e-2), 3)
weights = model.conv.weight
