"""An equinox model that a main function trains, with a step that is defined in it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


def dataloader(arrays, size, *, key):
    while True:
        perm = jax.random.permutation(key, arrays[0].shape[0])
        (key,) = jax.random.split(key, 1)
        for start in range(0, arrays[0].shape[0], size):
            yield tuple(array[perm[start : start + size]] for array in arrays)


def main(width=128, depth=2, batch_size=32, seed=0):
    data_key, model_key, loader_key = jax.random.split(jax.random.PRNGKey(seed), 3)
    xs = jax.random.normal(data_key, (256, 16))
    ys = jnp.sin(xs)
    model = eqx.nn.MLP(16, 16, width, depth, key=model_key)
    optim = optax.adam(3e-4)
    opt_state = optim.init(eqx.filter(model, eqx.is_array))
    mesh = jax.sharding.Mesh(jax.devices(), ("batch",))
    replicated, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("batch"))
    model, opt_state = eqx.filter_shard((model, opt_state), replicated)

    @eqx.filter_jit
    def make_step(model, opt_state, x, y):
        value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
        updates, opt_state = optim.update(grads, opt_state, model)
        return eqx.apply_updates(model, updates), opt_state, value

    for step, (x, y) in zip(range(3), dataloader((xs, ys), batch_size, key=loader_key), strict=False):
        x, y = eqx.filter_shard((x, y), split)
        model, opt_state, value = make_step(model, opt_state, x, y)
        print(step, value)


if __name__ == "__main__":
    main()
