"""A script with argparse, a generator of data, and a replicated state."""

import argparse

import jax
import jax.numpy as jnp
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(keys[i], sizes[i : i + 2]), jnp.zeros(sizes[i + 1])) for i in range(len(sizes) - 1)]


def loss(params, x, y):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x - y) ** 2)


opt = optax.adam(1e-3)


@jax.jit
def train_step(params, opt_state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    updates, opt_state = opt.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, value


def data(key, n, d):
    while True:
        key, k = jax.random.split(key)
        x = jax.random.normal(k, (n, d))
        yield x, x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    mesh = jax.sharding.Mesh(jax.devices(), ("data",))
    key = jax.random.key(0)
    params = init(key, [args.width, 512, args.width])
    params = jax.device_put(params, NamedSharding(mesh, P()))
    opt_state = opt.init(params)
    print("start")
    for _, (x, y) in zip(range(3), data(key, args.batch, args.width), strict=False):
        x, y = jax.device_put((x, y), NamedSharding(mesh, P("data")))
        params, opt_state, value = train_step(params, opt_state, x, y)
        print(value)


if __name__ == "__main__":
    main()
