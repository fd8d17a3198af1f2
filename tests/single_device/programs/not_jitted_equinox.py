# convert: step
import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def loss_fn(model, x, y, key):
    noise = 0.1 * jax.random.normal(key, x.shape)
    out = jax.vmap(model)(x + noise)
    return jnp.mean((out[:, 0] - y) ** 2)


def step(model, opt_state, batch, key, optim):
    x, y = batch
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, x, y, key)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    model = eqx.apply_updates(model, updates)
    return model, opt_state, loss


def main():
    key = jax.random.PRNGKey(0)
    model = eqx.nn.MLP(4, 1, 8, 2, key=key)
    optim = optax.adam(1e-2)
    opt_state = optim.init(eqx.filter(model, eqx.is_array))
    losses = []
    for _ in range(4):
        key, sub = jax.random.split(key)
        x = jax.random.normal(sub, (16, 4))
        model, opt_state, loss = step(model, opt_state, (x, x.sum(1)), sub, optim)
        losses.append(float(loss))
    return losses, model.layers[0].weight


losses, weight = main()
