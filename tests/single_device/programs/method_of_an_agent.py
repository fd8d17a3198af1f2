# convert: Agent.learn
"""A method with static and donated arguments, in a class that keeps its state."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array


class Agent:
    def __init__(self, lr):
        self.lr = lr
        self.params = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3)

    @functools.partial(jax.jit, static_argnums=(0, 3), donate_argnums=1)
    def learn(self, params, transitions, gamma):
        def loss(p):
            q = jnp.take_along_axis(transitions.obs @ p, transitions.action[:, None], axis=1)[:, 0]
            return jnp.mean((q - gamma * transitions.reward) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return params - self.lr * grads, value

    def step(self, transitions):
        self.params, value = self.learn(self.params, transitions, 0.9)
        return float(value)


generator = np.random.default_rng(0)
agent = Agent(0.05)
values = []
for _ in range(3):
    moves = Transition(
        generator.normal(size=(32, 4)).astype(np.float32), generator.integers(0, 3, size=32), generator.normal(size=32)
    )
    values.append(agent.step(moves))
learned = np.asarray(agent.params)
