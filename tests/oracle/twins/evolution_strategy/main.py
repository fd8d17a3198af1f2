"""OpenAI-style evolution strategies; the population is split over devices and vmapped on each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

POP_AXIS = "pop"


def policy(params, obs):
    h = jnp.tanh(params["w1"] @ obs + params["b1"])
    return params["w2"] @ h


def rollout(params, key, steps=6):
    def step(carry, k):
        obs, total = carry
        action = policy(params, obs)
        obs = 0.8 * obs + 0.1 * action + 0.01 * jax.random.normal(k, obs.shape)
        return (obs, total - jnp.sum(obs**2)), None

    start = (jnp.ones(3) + 0.0 * params["b1"][:3], 0.0 * params["b1"][0])
    (_, total), _ = jax.lax.scan(step, start, jax.random.split(key, steps))
    return total


def centered_rank(x):
    order = jnp.argsort(jnp.argsort(x))
    return order / (x.size - 1) - 0.5


class ES:
    def __init__(self, pop_size, sigma=0.1, lr=0.05, axis=POP_AXIS):
        self.pop_size, self.sigma, self.lr, self.axis = pop_size, sigma, lr, axis
        self.mesh = Mesh(np.asarray(jax.devices()), (axis,))
        self.per_device = pop_size // self.mesh.size

    def init(self, key):
        k1, k2 = jax.random.split(key)
        return {"w1": jax.random.normal(k1, (8, 3)), "b1": jnp.zeros(8), "w2": jax.random.normal(k2, (3, 8))}

    def _generation(self, params, key):
        flat, unravel = ravel_pytree(params)
        noise_key, roll_key = jax.random.split(key)
        noise_key = jax.random.fold_in(noise_key, jax.lax.axis_index(self.axis))
        noise = jax.random.normal(noise_key, (self.per_device, flat.size))
        members = jax.vmap(unravel)(flat + self.sigma * noise)
        fitness = jax.vmap(rollout, in_axes=(0, None))(members, roll_key)
        every = jax.lax.all_gather(fitness, self.axis, tiled=True)
        mine = jax.lax.axis_index(self.axis) * self.per_device
        ranks = jax.lax.dynamic_slice(centered_rank(every), (mine,), (self.per_device,))
        grad = jax.lax.psum(ranks @ noise, self.axis) / (self.pop_size * self.sigma)
        best = jax.lax.pmax(fitness.max(), self.axis)
        return unravel(flat + self.lr * grad), best, noise

    @functools.cached_property
    def generation(self):
        return jax.jit(
            jax.shard_map(self._generation, mesh=self.mesh, in_specs=(P(), P()), out_specs=(P(), P(), P(self.axis)))
        )


def main():
    es = ES(pop_size=64)
    key = jax.random.key(0)
    params = es.init(key)
    first = None
    for i in range(3):
        key, sub = jax.random.split(key)
        before = params
        params, best, noise = es.generation(before, sub)
    flat, unravel = ravel_pytree(before)
    _, roll_key = jax.random.split(sub)
    fitness = jax.vmap(rollout, in_axes=(0, None))(jax.vmap(unravel)(flat + es.sigma * noise), roll_key)
    want = flat + es.lr * centered_rank(fitness) @ noise / (es.pop_size * es.sigma)
    distinct = len({round(float(v), 6) for v in noise[:, 0]}) == es.pop_size
    return distinct and bool(jnp.allclose(ravel_pytree(params)[0], want, atol=1e-3)) and bool(best == fitness.max())


if __name__ == "__main__":
    agrees = main()
