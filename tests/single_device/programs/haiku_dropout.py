# convert: main.update
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax


def forward(x, is_training):
    x = jax.nn.gelu(hk.Linear(12)(x))
    if is_training:
        x = hk.dropout(hk.next_rng_key(), 0.1, x)
    return hk.Linear(2)(x)


def main():
    net = hk.transform(forward)
    optimizer = optax.sgd(0.1, momentum=0.9)

    def loss_fn(params, rng, batch):
        x, y = batch
        return optax.softmax_cross_entropy_with_integer_labels(net.apply(params, rng, x, True), y).mean()

    @jax.jit
    def update(params, rng, opt_state, batch):
        rng, now = jax.random.split(rng)
        value, grads = jax.value_and_grad(loss_fn)(params, now, batch)
        updates, opt_state = optimizer.update(grads, opt_state)
        return optax.apply_updates(params, updates), rng, opt_state, value

    generator = np.random.default_rng(3)
    rng = jax.random.PRNGKey(4)
    params = net.init(rng, jnp.ones((1, 5)), True)
    opt_state = optimizer.init(params)
    found = []
    for _ in range(4):
        batch = generator.normal(size=(16, 5)).astype(np.float32), generator.integers(0, 2, size=16)
        params, rng, opt_state, value = update(params, rng, opt_state, batch)
        found.append(float(value))
    return params, found


params, found = main()
