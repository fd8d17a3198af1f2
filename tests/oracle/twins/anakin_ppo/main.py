"""Anakin-style actor-critic: environments are vmapped over "batch", learners pmapped over "device"."""

from typing import NamedTuple

import chex
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Transition(NamedTuple):
    obs: chex.Array
    action: chex.Array
    reward: chex.Array
    log_prob: chex.Array
    value: chex.Array


class LearnerState(NamedTuple):
    params: dict
    opt_state: optax.OptState
    key: chex.PRNGKey
    obs: chex.Array


class ActorCritic(nn.Module):
    num_actions: int

    @nn.compact
    def __call__(self, obs):
        h = nn.tanh(nn.Dense(16)(obs))
        return nn.Dense(self.num_actions)(h), nn.Dense(1)(h)[..., 0]


CONFIG = {"num_envs": 4, "update_batch": 2, "rollout": 5, "gamma": 0.9, "lr": 1e-2, "seed": 7}


def env_step(key, obs, action):
    noise = 0.1 * jax.random.normal(key, obs.shape)
    reward = -jnp.abs(obs[0] - action)
    return 0.9 * obs + noise, reward


def get_learner_fn(network, optim, config):
    def rollout_step(state, _):
        key, policy_key, step_key = jax.random.split(state.key, 3)
        logits, value = network.apply(state.params, state.obs)
        action = jax.random.categorical(policy_key, logits)
        log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], -1)[:, 0]
        step_keys = jax.random.split(step_key, config["num_envs"])
        obs, reward = jax.vmap(env_step)(step_keys, state.obs, action)
        transition = Transition(state.obs, action, reward, log_prob, value)
        return state._replace(key=key, obs=obs), transition

    def loss_fn(params, traj, returns):
        logits, value = network.apply(params, traj.obs)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), traj.action[..., None], -1)[..., 0]
        advantage = returns - traj.value
        ratio = jnp.exp(logp - traj.log_prob)
        actor = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
        return actor + 0.5 * ((returns - value) ** 2).mean()

    def update_step(state, _):
        state, traj = jax.lax.scan(rollout_step, state, None, config["rollout"])

        def discount(acc, reward):
            acc = reward + config["gamma"] * acc
            return acc, acc

        _, returns = jax.lax.scan(discount, jnp.zeros(config["num_envs"]), traj.reward, reverse=True)
        loss, grads = jax.value_and_grad(loss_fn)(state.params, traj, returns)
        grads = jax.lax.pmean(grads, axis_name="batch")
        grads = jax.lax.pmean(grads, axis_name="device")
        loss = jax.lax.pmean(jax.lax.pmean(loss, axis_name="batch"), axis_name="device")
        updates, opt_state = optim.update(grads, state.opt_state)
        params = optax.apply_updates(state.params, updates)
        return state._replace(params=params, opt_state=opt_state), loss

    def learner_fn(state):
        batched = jax.vmap(update_step, in_axes=(0, None), axis_name="batch")
        return jax.lax.scan(batched, state, None, 2)

    return learner_fn


def learner_setup(config):
    n = len(jax.devices())
    key, init_key, env_key = jax.random.split(jax.random.PRNGKey(config["seed"]), 3)
    network, optim = ActorCritic(3), optax.adam(config["lr"])
    params = network.init(init_key, jnp.zeros((1, 2)))
    opt_state = optim.init(params)
    shape = (n, config["update_batch"])
    keys = jax.random.split(key, n * config["update_batch"]).reshape(*shape, -1)
    obs = jax.random.normal(env_key, (*shape, config["num_envs"], 2))
    tile = lambda x: jnp.broadcast_to(x, shape + jnp.shape(x))
    params, opt_state = jax.tree.map(tile, (params, opt_state))
    learn = jax.pmap(get_learner_fn(network, optim, config), axis_name="device")
    return learn, LearnerState(params, opt_state, keys, obs)


def main():
    learn, state = learner_setup(CONFIG)
    for _ in range(2):
        state, losses = learn(state)
    kernel = jax.tree.leaves(state.params)[1].reshape(len(jax.devices()) * CONFIG["update_batch"], -1)
    same = bool(jnp.allclose(kernel, kernel[:1], atol=1e-6))
    distinct = len({tuple(k) for k in state.key.reshape(-1, 2).tolist()}) == len(kernel)
    return same and distinct and bool(jnp.isfinite(losses).all())


if __name__ == "__main__":
    agrees = main()
