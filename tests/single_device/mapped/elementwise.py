# to: pmap shard_map
# convert: scale_by_two centred
import jax
import jax.numpy as jnp


def scale_by_two(x):
    return x * 2


def centred(features, mean):
    return (features - mean).reshape(features.shape[0], -1)


data = jnp.arange(48.0).reshape(16, 3)
doubled = scale_by_two(data)
centred_rows = centred(data, jnp.arange(3.0))
total = jax.device_get(doubled).sum()
