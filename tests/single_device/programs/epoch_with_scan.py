# convert: run_epoch
"""An epoch that shuffles, cuts the batches and steps inside of one compiled function."""

import jax
import jax.numpy as jnp
import optax

optimizer = optax.adam(0.05)


def loss_fn(params, batch):
    x, y = batch
    return jnp.mean((jnp.tanh(x @ params["w"]) - y) ** 2)


@jax.jit
def run_epoch(rng, params, opt_state, xs, ys):
    order = jax.random.permutation(rng, xs.shape[0]).reshape(-1, 16)

    def body(carry, rows):
        params, opt_state = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, (xs[rows], ys[rows]))
        updates, opt_state = optimizer.update(grads, opt_state)
        return (optax.apply_updates(params, updates), opt_state), loss

    (params, opt_state), losses = jax.lax.scan(body, (params, opt_state), order)
    return params, opt_state, losses


xs = jax.random.normal(jax.random.key(1), (64, 3))
ys = jnp.sin(xs.sum(axis=1))
params = {"w": jnp.zeros(3)}
opt_state = optimizer.init(params)
for epoch in range(3):
    params, opt_state, losses = run_epoch(jax.random.key(epoch), params, opt_state, xs, ys)
