"""Training that stops and resumes: one copy of the state is saved, all devices get it back."""

import io
import pickle

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax


def net_fn(x, is_training):
    h = hk.Linear(12)(x)
    h = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.5, cross_replica_axis="i")(h, is_training)
    return hk.Linear(1)(jax.nn.relu(h))[:, 0]


net = hk.without_apply_rng(hk.transform_with_state(net_fn))


class Experiment:
    def __init__(self, seed=0):
        self.seed = seed
        self.tx = optax.adam(1e-2)
        self._update = jax.pmap(self._update_fn, axis_name="i", donate_argnums=(0, 1, 2))
        self._params = self._state = self._opt = None

    def initialize(self, x):
        key = jnp.broadcast_to(jax.random.PRNGKey(self.seed), (jax.local_device_count(), 2))
        init = jax.pmap(lambda k, x: net.init(k, x, True), axis_name="i")
        self._params, self._state = init(key, x)
        self._opt = jax.pmap(self.tx.init)(self._params)

    def _loss_fn(self, params, state, x, y):
        prediction, state = net.apply(params, state, x, True)
        return jnp.mean(jnp.square(prediction - y)), state

    def _update_fn(self, params, state, opt, x, y):
        (loss, state), grads = jax.value_and_grad(self._loss_fn, has_aux=True)(params, state, x, y)
        grads = jax.lax.pmean(grads, axis_name="i")
        updates, opt = self.tx.update(grads, opt, params)
        params = optax.apply_updates(params, updates)
        return params, state, opt, jax.lax.pmean(loss, axis_name="i")

    def step(self, x, y):
        self._params, self._state, self._opt, loss = self._update(self._params, self._state, self._opt, x, y)
        return loss[0]

    def save(self, file):
        first = jax.tree.map(lambda x: np.asarray(x[0]), (self._params, self._state, self._opt))
        pickle.dump(first, file)

    def restore(self, file):
        saved = pickle.load(file)
        devices = jax.local_devices()
        self._params, self._state, self._opt = jax.tree.map(lambda x: jnp.stack([x] * len(devices)), saved)


def main():
    n = jax.local_device_count()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, n, 4, 5)).astype(np.float32) * (1 + np.arange(n))[None, :, None, None]
    y = rng.normal(size=(3, n, 4)).astype(np.float32)

    straight = Experiment()
    straight.initialize(x[0])
    losses = [float(straight.step(x[i], y[i])) for i in range(3)]

    first = Experiment()
    first.initialize(x[0])
    file = io.BytesIO()
    again = [float(first.step(x[0], y[0]))]
    first.save(file)
    file.seek(0)
    second = Experiment(seed=1)
    second.restore(file)
    again += [float(second.step(x[i], y[i])) for i in (1, 2)]

    def whole(params, state, x, y):
        h = x @ params["linear"]["w"] + params["linear"]["b"]
        h = (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)
        h = jax.nn.relu(h * params["batch_norm"]["scale"][0] + params["batch_norm"]["offset"][0])
        return jnp.mean(jnp.square((h @ params["linear_1"]["w"] + params["linear_1"]["b"])[:, 0] - y))

    fresh = Experiment()
    fresh.initialize(x[0])
    params = jax.tree.map(lambda a: np.asarray(a[0]), fresh._params)
    opt, alone = fresh.tx.init(params), []
    for i in range(3):
        loss, grads = jax.value_and_grad(whole)(params, None, x[i].reshape(-1, 5), y[i].reshape(-1))
        updates, opt = fresh.tx.update(grads, opt, params)
        params = optax.apply_updates(params, updates)
        alone.append(float(loss))
    return np.allclose(losses, again, rtol=1e-4) and np.allclose(losses, alone, rtol=1e-2)


agrees = main()
