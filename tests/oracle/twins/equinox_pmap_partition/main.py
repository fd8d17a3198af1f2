import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax


class Block(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout

    def __init__(self, width, *, key):
        self.linear = eqx.nn.Linear(width, width, key=key)
        self.norm = eqx.nn.LayerNorm(width)
        self.dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x, *, key):
        return x + self.dropout(jax.nn.gelu(self.linear(self.norm(x))), key=key)


class Net(eqx.Module):
    stem: eqx.nn.Linear
    blocks: list[Block]
    head: eqx.nn.Linear

    def __init__(self, in_size, out_size, width, depth, *, key):
        ks, kh, *kb = jr.split(key, depth + 2)
        self.stem = eqx.nn.Linear(in_size, width, key=ks)
        self.blocks = [Block(width, key=k) for k in kb]
        self.head = eqx.nn.Linear(width, out_size, key=kh)

    def __call__(self, x, *, key):
        x = self.stem(x)
        for block, k in zip(self.blocks, jr.split(key, len(self.blocks))):
            x = block(x, key=k)
        return self.head(x)


def loss_fn(params, static, x, y, key):
    model = eqx.combine(params, static)
    keys = jr.split(key, x.shape[0])
    pred = jax.vmap(lambda xi, ki: model(xi, key=ki))(x, keys)
    return jnp.mean((pred - y) ** 2), pred


def make_step(static, optim):
    @ft.partial(jax.pmap, axis_name="devices", in_axes=(None, None, 0, 0, 0), out_axes=(None, None, None, 0))
    def step(params, opt_state, x, y, key):
        (loss, pred), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, static, x, y, key)
        grads = jax.lax.pmean(grads, axis_name="devices")
        loss = jax.lax.pmean(loss, axis_name="devices")
        updates, opt_state = optim.update(grads, opt_state, params)
        params = eqx.apply_updates(params, updates)
        return params, opt_state, loss, pred

    return step


def shard(batch, n):
    return jax.tree.map(lambda a: a.reshape(n, a.shape[0] // n, *a.shape[1:]), batch)


def main():
    n = jax.local_device_count()
    key, model_key, data_key = jr.split(jr.key(0), 3)
    model = Net(3, 2, 16, 2, key=model_key)
    params, static = eqx.partition(model, eqx.is_inexact_array)
    optim = optax.adam(1e-2)
    opt_state = optim.init(params)
    step = make_step(static, optim)
    x = jnp.tile(jr.normal(data_key, (1, 3)), (32, 1))
    x, y = shard((x, x[:, :2]), n)
    losses = []
    for _ in range(2):
        key, sub = jr.split(key)
        keys = jr.split(sub, n)
        params, opt_state, loss, pred = step(params, opt_state, x, y, keys)
        losses.append(float(loss))
    drawn = len({round(float(v), 5) for v in pred[..., 0].ravel()})
    moved = jax.tree.leaves(params)[0]
    return drawn == 32 and bool(jnp.isfinite(moved).all()) and moved.sharding.is_fully_replicated and synced(moved)


def synced(a):
    first, *others = [np.asarray(s.data) for s in a.addressable_shards]
    return all(np.array_equal(first, o) for o in others)


if __name__ == "__main__":
    agrees = main()
