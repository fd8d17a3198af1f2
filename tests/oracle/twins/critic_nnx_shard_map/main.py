"""Fitted Q evaluation with an nnx critic: importance weights, a target network, replay rows over two axes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

AXES = ("host", "chip")


@dataclasses.dataclass(frozen=True)
class Hyper:
    obs: int = 5
    actions: int = 3
    width: int = 16
    gamma: float = 0.9
    tau: float = 0.2
    lr: float = 0.1
    rows: int = 32


class Critic(nnx.Module):
    def __init__(self, hp: Hyper, *, rngs: nnx.Rngs):
        self.torso = nnx.Linear(hp.obs, hp.width, rngs=rngs)
        self.norm = nnx.LayerNorm(hp.width, rngs=rngs)
        self.head = nnx.Linear(hp.width, hp.actions, rngs=rngs)

    def __call__(self, obs):
        return self.head(nnx.silu(self.norm(self.torso(obs))))


def td_errors(hp, critic, target, batch):
    q = jnp.take_along_axis(critic(batch["obs"]), batch["action"][:, None], axis=-1).squeeze(-1)
    bootstrap = jnp.max(target(batch["next_obs"]), axis=-1)
    goal = batch["reward"] + hp.gamma * batch["mask"] * jax.lax.stop_gradient(bootstrap)
    return q - goal


def make_step(hp, graphdef, tx, mesh):
    def step(params, target, opt_state, batch):
        def loss_fn(params):
            critic, lagged = nnx.merge(graphdef, params), nnx.merge(graphdef, target)
            errors = td_errors(hp, critic, lagged, batch)
            return jnp.sum(batch["weight"] * optax.huber_loss(errors)), errors

        (loss, errors), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
        norm = jax.lax.psum(batch["weight"].sum(), AXES)
        grads = jax.tree.map(lambda g: jax.lax.psum(g, AXES) / norm, grads)
        loss = jax.lax.psum(loss, AXES) / norm
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        target = jax.tree.map(lambda t, p: (1 - hp.tau) * t + hp.tau * p, target, params)
        return params, target, opt_state, loss, jnp.abs(errors)

    rows = P(AXES)
    return jax.jit(
        jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(P(), P(), P(), rows),
            out_specs=(P(), P(), P(), P(), rows),
            check_vma=False,
        )
    )


def replay(hp, seed):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(hp.rows, hp.obs)).astype(np.float32),
        "next_obs": rng.normal(size=(hp.rows, hp.obs)).astype(np.float32),
        "action": rng.integers(0, hp.actions, size=hp.rows),
        "reward": (rng.normal(size=hp.rows) + np.arange(hp.rows) / 8).astype(np.float32),
        "mask": np.ones(hp.rows, np.float32),
        "weight": np.linspace(0.1, 2.0, hp.rows).astype(np.float32),
    }


def main():
    hp = Hyper()
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), AXES)
    graphdef, params = nnx.split(Critic(hp, rngs=nnx.Rngs(0)))
    tx = optax.sgd(hp.lr)
    batch = replay(hp, 0)

    def whole(p):
        errors = td_errors(hp, nnx.merge(graphdef, p), nnx.merge(graphdef, params), batch)
        return jnp.sum(batch["weight"] * optax.huber_loss(errors)) / batch["weight"].sum(), jnp.abs(errors)

    (want, priorities), grads = jax.value_and_grad(whole, has_aux=True)(params)
    alone = jax.tree.map(lambda p, g: p - hp.lr * g, params, grads)
    placed = jax.device_put(batch, NamedSharding(mesh, P(AXES)))
    new, target, _, loss, got = make_step(hp, graphdef, tx, mesh)(params, params, tx.init(params), placed)
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), new, alone)
    return (
        bool(np.allclose(loss, want, rtol=1e-4))
        and all(jax.tree.leaves(close))
        and bool(np.allclose(got, priorities, atol=1e-4))
    )


agrees = main()
