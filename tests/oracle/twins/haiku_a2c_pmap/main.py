"""Advantage actor-critic with haiku: a batch of trajectories per device, one learner state for all."""

from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

GAMMA = 0.9


class Trajectory(NamedTuple):
    observation: jax.Array
    action: jax.Array
    reward: jax.Array
    discount: jax.Array


class LearnerState(NamedTuple):
    params: hk.Params
    opt_state: optax.OptState
    reward_mean: jax.Array
    steps: jax.Array


def network(observation):
    torso = hk.nets.MLP([16, 16], activate_final=True)
    features = torso(observation)
    return hk.Linear(3)(features), hk.Linear(1)(features)[..., 0]


def returns(reward, discount, last_value):
    def body(carry, inputs):
        r, d = inputs
        carry = r + GAMMA * d * carry
        return carry, carry

    _, out = jax.lax.scan(body, last_value, (reward, discount), reverse=True)
    return out


class Agent:
    def __init__(self, axis_name="devices"):
        self.net = hk.without_apply_rng(hk.transform(network))
        self.tx = optax.chain(optax.clip_by_global_norm(10.0), optax.sgd(0.2))
        self.axis_name = axis_name

    def initial_state(self, key, observation):
        params = self.net.init(key, observation)
        return LearnerState(params, self.tx.init(params), jnp.zeros(()), jnp.zeros((), jnp.int32))

    def losses(self, params, traj, scale):
        logits, values = self.net.apply(params, traj.observation)
        rows = jax.vmap(returns, in_axes=(1, 1, 0), out_axes=1)
        targets = rows(traj.reward[:-1] / scale, traj.discount[:-1], values[-1])
        advantages = jax.lax.stop_gradient(targets - values[:-1])
        log_probs = jax.nn.log_softmax(logits[:-1])
        taken = jnp.take_along_axis(log_probs, traj.action[:-1, :, None], axis=-1)[..., 0]
        entropy = -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1)
        policy = -jnp.mean(advantages * taken)
        value = 0.5 * jnp.mean(jnp.square(targets - values[:-1]))
        return policy + value - 0.01 * jnp.mean(entropy), {"policy": policy, "value": value}

    def update(self, state, traj):
        scale = 1.0 + jnp.abs(jax.lax.pmean(traj.reward.mean(), self.axis_name))
        grads, metrics = jax.grad(self.losses, has_aux=True)(state.params, traj, scale)
        grads = jax.lax.pmean(grads, self.axis_name)
        metrics = jax.lax.pmean(metrics, self.axis_name)
        updates, opt_state = self.tx.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        steps = state.steps + jax.lax.psum(traj.reward.size, self.axis_name)
        return LearnerState(params, opt_state, scale - 1.0, steps), metrics


def trajectories(rng, time, batch):
    size = (time, batch)
    return Trajectory(
        observation=rng.normal(size=(*size, 4)).astype(np.float32),
        action=rng.integers(0, 3, size=size),
        reward=(rng.normal(size=size) + np.arange(batch)).astype(np.float32),
        discount=(rng.random(size) > 0.1).astype(np.float32),
    )


def split_batch(traj, n):
    """Time stays in front of the batch on each device."""
    return jax.tree.map(lambda x: np.stack(np.split(x, n, axis=1)), traj)


def main():
    n = jax.local_device_count()
    traj = trajectories(np.random.default_rng(0), time=6, batch=4 * n)
    agent = Agent()
    state = agent.initial_state(jax.random.PRNGKey(0), traj.observation)

    def whole(params):
        return agent.losses(params, traj, 1.0 + np.abs(traj.reward.mean()))

    grads, want = jax.grad(whole, has_aux=True)(state.params)
    updates, _ = agent.tx.update(grads, state.opt_state, state.params)
    alone = optax.apply_updates(state.params, updates)

    states = jax.tree.map(lambda x: jnp.stack([x] * n), state)
    update = jax.pmap(agent.update, axis_name=agent.axis_name, donate_argnums=0)
    states, metrics = update(states, split_batch(traj, n))
    params = jax.tree.map(lambda x: x[0], states.params)
    last = jax.tree.map(lambda x: x[-1], states.params)
    same = jax.tree.map(lambda *xs: all(np.allclose(x, xs[0], atol=1e-4) for x in xs), params, last, alone)
    return (
        all(jax.tree.leaves(same))
        and np.allclose(metrics["value"][0], want["value"], atol=1e-4)
        and np.allclose(metrics["policy"][0], want["policy"], atol=1e-4)
        and states.steps[0] == traj.reward.size
    )


agrees = main()
