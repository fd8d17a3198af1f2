"""A trainer whose method makes the call, with a dataclass of settings and FSDP by out_shardings."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass
class Config:
    width: int = 128
    layers: int = 3
    batch: int = 16


class Trainer:
    def __init__(self, config, mesh):
        self.config = config
        self.mesh = mesh
        self.params = jax.jit(self.init, out_shardings=NamedSharding(mesh, P(None, "fsdp")))(jax.random.key(0))

    def init(self, key):
        shape = (self.config.width, self.config.width)
        return {str(layer): jax.random.normal(key, shape) for layer in range(self.config.layers)}

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, params, x):
        def loss(params):
            h = x
            for layer in range(self.config.layers):
                h = jnp.tanh(h @ params[str(layer)])
            return jnp.mean(h**2)

        grads = jax.grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    def fit(self, steps):
        for step in range(steps):
            x = jax.random.normal(jax.random.key(step), (self.config.batch, self.config.width))
            x = jax.device_put(x, NamedSharding(self.mesh, P("fsdp")))
            self.params = self.step(self.params, x)


def train(config: Config):
    mesh = jax.sharding.Mesh(jax.devices(), ("fsdp",))
    trainer = Trainer(config, mesh)
    trainer.fit(2)


if __name__ == "__main__":
    train(Config())
