# to: pmap shard_map
# convert: update
import jax
import jax.numpy as jnp
import optax

schedule = optax.exponential_decay(0.1, 2, 0.9)
optimizer = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(schedule), optax.scale(-1.0))


def loss_fn(params, batch):
    predicted = batch["image"] @ params
    return optax.softmax_cross_entropy_with_integer_labels(predicted, batch["label"]).mean()


@jax.jit
def update(step, params, opt_state, ema, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, params)
    return params, opt_state, ema, loss + 0.001 * step


params = jnp.zeros((4, 3))
opt_state = optimizer.init(params)
ema = params
for step in range(5):
    batch = {"image": jnp.sin(jnp.arange(64.0) + step).reshape(16, 4), "label": jnp.arange(16) % 3}
    params, opt_state, ema, loss = update(step, params, opt_state, ema, batch)
