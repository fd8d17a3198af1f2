# to: pmap shard_map
# convert: denoise_step predict fit score
import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(nn.tanh(nn.Dense(8)(x)))


@jax.jit
def denoise_step(params, clean, offset):
    batch_size = clean.shape[0]
    times = jnp.full((batch_size, 1), offset)
    return jnp.mean((clean * times - params) ** 2)


@jax.jit
def predict(params, z):
    return Net().apply(params, z)[()]


@jax.jit
def fit(params, hidden):
    return jnp.mean((hidden @ params) ** 2)


@jax.jit
def score(params, inner):
    b, _ = inner.shape
    return jnp.sum((inner @ params) ** 2) / b


batch = jnp.sin(jnp.arange(64.0)).reshape(32, 2)
params = Net().init(jax.random.key(0), batch)
total = jnp.ones(2)
print(denoise_step(total, batch, 0.5))
print(predict(params, batch))
print(fit(total, batch), score(total, batch))
