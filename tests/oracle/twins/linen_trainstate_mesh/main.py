import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Encoder(nn.Module):
    latents: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(64, name="fc1")(x))
        return nn.Dense(self.latents, name="mean")(x), nn.Dense(self.latents, name="logvar")(x)


class VAE(nn.Module):
    latents: int = 8
    features: int = 24

    def setup(self):
        self.encoder = Encoder(self.latents)
        self.decoder = nn.Dense(self.features)

    def __call__(self, x, z_rng):
        mean, logvar = self.encoder(x)
        z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(z_rng, logvar.shape)
        return self.decoder(z), mean, logvar


class State(train_state.TrainState):
    rng: jax.Array
    ema: Any = None


class Trainer:
    def __init__(self, model, shape=(4, 2), axes=("data", "mdl"), batch_size=32):
        self.model = model
        self.batch_size = batch_size
        self.mesh = Mesh(mesh_utils.create_device_mesh(shape), axes)
        self.data_sharding = NamedSharding(self.mesh, P("data", None))
        self.replicated = NamedSharding(self.mesh, P())
        self.train_step = jax.jit(
            self._train_step,
            in_shardings=(self.replicated, self.data_sharding),
            out_shardings=(self.replicated, self.replicated),
            donate_argnums=(0,),
        )

    def create(self, seed):
        rng, init_rng, z_rng = jax.random.split(jax.random.key(seed), 3)
        x = jnp.ones((self.batch_size, self.model.features))
        params = self.model.init(init_rng, x, z_rng)["params"]
        state = State.create(apply_fn=self.model.apply, params=params, tx=optax.adam(1e-3), rng=rng)
        return jax.device_put(state, self.replicated)

    def loss(self, params, state, x, z_rng):
        recon, mean, logvar = state.apply_fn({"params": params}, x, z_rng)
        kl = -0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), -1)
        return jnp.mean(jnp.sum((recon - x) ** 2, -1) + kl)

    def _train_step(self, state, x):
        rng, z_rng = jax.random.split(state.rng)
        loss, grads = jax.value_and_grad(self.loss)(state.params, state, x, z_rng)
        return state.apply_gradients(grads=grads).replace(rng=rng), loss

    def fit(self, state, batches):
        history = []
        for x in batches:
            x = jax.device_put(x, self.data_sharding)
            state, loss = self.train_step(state, x)
            history.append(loss)
        return state, [float(h) for h in history]


def main():
    trainer = Trainer(VAE())
    data = np.random.default_rng(0).normal(size=(3, 32, 24)).astype("float32")
    state = trainer.create(0)
    start = functools.reduce(lambda a, b: a + b.size, jax.tree.leaves(state.params), 0)
    state, history = trainer.fit(state, data)
    return start > 0 and len(history) == 3 and int(state.step) == 3


if __name__ == "__main__":
    agrees = main()
