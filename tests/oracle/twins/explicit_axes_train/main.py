"""Sharding in types: an MLP trained under jit with explicit mesh axes."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, reshard
from jax.sharding import PartitionSpec as P


@jax.tree_util.register_dataclass
@dataclass
class Params:
    up: jax.Array
    down: jax.Array
    bias: jax.Array


@dataclass(frozen=True)
class Config:
    features: int = 8
    hidden: int = 16
    classes: int = 4
    batch: int = 24
    lr: float = 0.1


def init(key, cfg):
    k1, k2 = jax.random.split(key)
    up = jax.random.normal(k1, (cfg.features, cfg.hidden)) / cfg.features**0.5
    down = jax.random.normal(k2, (cfg.hidden, cfg.classes)) / cfg.hidden**0.5
    return Params(up, down, jnp.zeros((cfg.classes,)))


SPECS = Params(up=P(None, "model"), down=P("model", None), bias=P(None))


def place(params, mesh):
    return jax.tree.map(lambda p, s: jax.device_put(p, NamedSharding(mesh, s)), params, SPECS)


def forward(params, x):
    h = jnp.einsum("bf,fh->bh", x, params.up, out_sharding=P("data", "model"))
    h = jax.nn.relu(h)
    logits = jnp.einsum("bh,hc->bc", h, params.down, out_sharding=P("data", None))
    return logits + params.bias


def loss_fn(params, x, labels):
    logp = jax.nn.log_softmax(forward(params, x))
    onehot = jax.nn.one_hot(labels, logp.shape[-1])
    return -jnp.mean(jnp.sum(logp * onehot, axis=-1))


@functools.partial(jax.jit, static_argnames="lr")
def train_step(params, x, labels, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, labels)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss


@jax.jit
def confidences(params, x):
    probs = jax.nn.softmax(forward(params, x))
    return reshard(jnp.max(probs, axis=-1), P())


def main():
    cfg = Config()
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Explicit))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(cfg.batch, cfg.features)).astype(np.float32)
    labels = rng.integers(0, cfg.classes, size=cfg.batch)
    params = init(jax.random.key(0), cfg)

    def alone(p):
        logits = jax.nn.relu(x @ p["up"]) @ p["down"] + p["bias"]
        return -jnp.mean(jax.nn.log_softmax(logits)[np.arange(cfg.batch), labels])

    plain = {"up": np.asarray(params.up), "down": np.asarray(params.down), "bias": np.asarray(params.bias)}
    want, grads = jax.value_and_grad(alone)(plain)

    with jax.set_mesh(mesh):
        params = place(params, mesh)
        xs = jax.device_put(x, P("data", None))
        ys = jax.device_put(labels, P("data"))
        top = confidences(params, xs)
        params, loss = train_step(params, xs, ys, lr=cfg.lr)
    new = {"up": params.up, "down": params.down, "bias": params.bias}
    close = [np.allclose(new[k], plain[k] - cfg.lr * grads[k], atol=1e-4) for k in new]
    return all(close) and np.allclose(loss, want, atol=1e-4) and top.shape == (cfg.batch,)


agrees = main()
