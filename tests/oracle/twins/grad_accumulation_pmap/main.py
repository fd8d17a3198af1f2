import time

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
from absl import logging  # noqa: F401


@chex.dataclass
class TrainState:
    params: chex.ArrayTree
    opt_state: chex.ArrayTree
    rng: chex.PRNGKey
    step: chex.Array


def init_mlp(key, sizes):
    layers = []
    for din, dout in zip(sizes, sizes[1:]):
        key, sub = jax.random.split(key)
        layers.append(dict(w=jax.random.normal(sub, (din, dout)) * np.sqrt(2 / din), b=jnp.zeros(dout)))
    return layers


def apply_mlp(layers, x, rng=None, rate=0.1):
    for i, layer in enumerate(layers):
        x = x @ layer["w"] + layer["b"]
        if i + 1 < len(layers):
            x = jax.nn.relu(x)
            if rng is not None:
                keep = jax.random.bernoulli(jax.random.fold_in(rng, i), 1 - rate, x.shape)
                x = jnp.where(keep, x / (1 - rate), 0)
    return x


def cross_entropy(params, batch, rng=None):
    logits = apply_mlp(params, batch["x"], rng)
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()


def accumulated_gradient(params, batch, rng, accum):
    chex.assert_equal_shape_prefix(jax.tree.leaves(batch), 1)
    split = jax.tree.map(lambda a: a.reshape(accum, -1, *a.shape[1:]), batch)

    def micro(carry, inputs):
        loss_sum, grad_sum = carry
        minibatch, index = inputs
        key = None if rng is None else jax.random.fold_in(rng, index)
        loss, grad = jax.value_and_grad(cross_entropy)(params, minibatch, key)
        return (loss_sum + loss, jax.tree.map(jnp.add, grad_sum, grad)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    (loss, grad), _ = jax.lax.scan(micro, (0.0, zeros), (split, jnp.arange(accum)))
    return jax.tree.map(lambda v: v / accum, (loss, grad))


def make_update(tx, accum, dropout):
    def update(state, batch):
        rng, step_rng = jax.random.split(state.rng)
        loss, grads = accumulated_gradient(state.params, batch, step_rng if dropout else None, accum)
        loss, grads = jax.lax.pmean((loss, grads), "dev")
        updates, opt_state = tx.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        new = state.replace(params=params, opt_state=opt_state, rng=rng, step=state.step + 1)
        return new, dict(loss=loss, gnorm=optax.global_norm(grads))

    return jax.pmap(update, axis_name="dev", donate_argnums=(0,))


def replicate_state(state, devices):
    n = len(devices)
    copies = jax.tree.map(lambda a: jnp.stack([a] * n), (state.params, state.opt_state, state.step))
    params, opt_state, step = copies
    return TrainState(params=params, opt_state=opt_state, rng=jax.random.split(state.rng, n), step=step)


def batches(n_dev, size, steps):
    rng = np.random.RandomState(0)
    for _ in range(steps):
        x = rng.randn(size, 5).astype(np.float32)
        batch = {"x": x, "y": (x[:, 0] > 0).astype(np.int32)}
        yield batch, jax.tree.map(lambda a: a.reshape((n_dev, size // n_dev) + a.shape[1:]), batch)


def main(accum=2, size=64):
    devices = jax.devices()
    tx = optax.sgd(optax.linear_schedule(0.1, 0.01, 10), momentum=0.9)
    params = init_mlp(jax.random.key(0), (5, 16, 2))
    state = TrainState(params=params, opt_state=tx.init(params), rng=jax.random.key(1), step=jnp.zeros((), int))
    dense, dense_opt = state.params, state.opt_state
    replicated = replicate_state(state, devices)
    update = make_update(tx, accum, dropout=False)
    start = time.time()
    for flat, batch in batches(len(devices), size, 2):
        replicated, metrics = update(replicated, batch)
        loss, grads = jax.value_and_grad(cross_entropy)(dense, flat)
        changes, dense_opt = tx.update(grads, dense_opt, dense)
        dense = optax.apply_updates(dense, changes)
    took = time.time() - start
    same = jax.tree.map(lambda a, b: np.allclose(a, b[None], atol=1e-4), replicated.params, dense)
    return took > 0 and all(jax.tree.leaves(same)) and np.allclose(metrics["loss"], loss, rtol=1e-3)


if __name__ == "__main__":
    agrees = main()
