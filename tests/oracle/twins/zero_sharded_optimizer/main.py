import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from zero import ShardedAdam, make_train_step


def init(key, sizes=(6, 20, 3)):
    keys = jax.random.split(key, len(sizes))
    return {
        f"layer{i}": {"w": jax.random.normal(k, (a, b)) * a**-0.5, "b": jnp.zeros(b)}
        for i, (k, a, b) in enumerate(zip(keys, sizes[:-1], sizes[1:]))
    }


def loss_fn(params, batch):
    x, y = batch
    h = jnp.tanh(x @ params["layer0"]["w"] + params["layer0"]["b"])
    pred = h @ params["layer1"]["w"] + params["layer1"]["b"]
    return jnp.mean((pred - y) ** 2)


def main():
    mesh = Mesh(np.array(jax.devices()), ("dp",))
    x = jax.random.normal(jax.random.key(1), (40, 6))
    batch = (x, jnp.sin(x[:, :3]) * jnp.arange(40)[:, None])
    params = init(jax.random.key(0))
    dense, adam = params, optax.adam(1e-2)
    opt = adam.init(dense)
    params = jax.tree.map(jnp.copy, params)
    tx = ShardedAdam()
    state = tx.init(params, mesh.size)
    step = make_train_step(loss_fn, tx, mesh)
    for _ in range(3):
        params, state, loss = step(params, state, batch)
        want, grads = jax.value_and_grad(loss_fn)(dense, batch)
        updates, opt = adam.update(grads, opt)
        dense = optax.apply_updates(dense, updates)
    close = jax.tree.map(lambda a, b: jnp.allclose(a, b, atol=1e-4), params, dense)
    return all(map(bool, jax.tree.leaves(close))) and bool(jnp.allclose(loss, want, rtol=1e-3))


if __name__ == "__main__":
    agrees = main()
