# to: pmap shard_map
# convert: train_step predict
import jax
import jax.numpy as jnp
import numpy as np


def loss_fn(params, x, y):
    logits = jnp.tanh(x @ params["w"]) @ params["v"]
    return jnp.mean((logits - y) ** 2), logits


@jax.jit
def train_step(params, x, y):
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, x, y)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss, logits


@jax.jit
def predict(params, x):
    return jnp.argmax(jnp.tanh(x @ params["w"]) @ params["v"], axis=1)


rows = np.random.default_rng(0)
inputs, targets = rows.normal(size=(44, 5)).astype("float32"), rows.normal(size=(44, 2)).astype("float32")
params = {"w": jnp.ones((5, 4)) * 0.1, "v": jnp.linspace(-1.0, 1.0, 8).reshape(4, 2)}
total = 0.0
for _ in range(2):
    for start in range(0, 44, 16):
        x, y = inputs[start : start + 16], targets[start : start + 16]
        params, loss, logits = train_step(params, x, y)
        total += loss
        classes = predict(params, x)
