# convert: main.make_step main.evaluate
"""Batches whose names end as those of counters do, among counters that are none."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def dataloader(arrays, batch_size):
    """Yields batches of some arrays, without an end."""
    start = 0
    while True:
        yield tuple(array[start : start + batch_size] for array in arrays)
        start = (start + batch_size) % len(arrays[0])


def main(steps=4):
    model = eqx.nn.MLP(4, "scalar", 8, 1, key=jax.random.key(0))
    xs = jnp.sin(jnp.arange(192.0)).reshape(48, 4)
    ys = xs.sum(axis=1)
    optim = optax.adam(1e-2)
    opt_state = optim.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss(model, x_i, y_i):
        return jnp.mean((jax.vmap(model)(x_i) - y_i) ** 2)

    @eqx.filter_jit
    def make_step(model, data_i, opt_state, step_i):
        x_i, y_i = data_i
        value, grads = loss(model, x_i, y_i)
        updates, opt_state = optim.update(grads, opt_state)
        updates = jax.tree.map(lambda u: u / (1 + step_i), updates)
        return value, eqx.apply_updates(model, updates), opt_state

    @eqx.filter_jit
    def evaluate(model, x_i, y_i):
        return jnp.mean((jax.vmap(model)(x_i) - y_i) ** 2)

    values = []
    for step, data_i in zip(range(steps), dataloader((xs, ys), 16), strict=False):
        value, model, opt_state = make_step(model, data_i, opt_state, step)
        values.append(value)
    return jnp.stack(values), evaluate(model, xs, ys)


values, evaluated = main()
