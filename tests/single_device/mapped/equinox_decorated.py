# to: pmap
# convert: make_step accuracy
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

model = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.key(0))
optim = optax.adam(1e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_array))


@eqx.filter_value_and_grad
def compute_loss(model, x, y):
    logits = jax.vmap(model)(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@eqx.filter_jit
def make_step(model, x, y, opt_state):
    loss, grads = compute_loss(model, x, y)
    updates, opt_state = optim.update(grads, opt_state, model)
    model = eqx.apply_updates(model, updates)
    return loss, model, opt_state


@eqx.filter_jit
def accuracy(model, x, y):
    logits = jax.vmap(model)(x)
    return jnp.mean(jnp.argmax(logits, axis=1) == y)


x = jnp.sin(jnp.arange(96.0)).reshape(32, 3)
y = jnp.arange(32) % 2
for _ in range(4):
    loss, model, opt_state = make_step(model, x, y, opt_state)
rate = accuracy(model, x, y)
weights = [layer.weight for layer in model.layers]
