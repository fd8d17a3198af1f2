import jax
import jax.numpy as jnp
from jax import lax


def _moments(x, axis_names):
    count = lax.psum(x.shape[0], axis_names)
    mean = lax.psum(x.sum(0), axis_names) / count
    var = lax.psum(((x - mean) ** 2).sum(0), axis_names) / count
    return mean, var


def standardize(x, axis_names=("data",), eps=1e-6):
    """Rows minus the global mean, over the global standard deviation."""
    mean, var = _moments(x, axis_names)
    return (x - mean) * lax.rsqrt(var + eps)


def global_norm(tree, axis_names=("data",)):
    squares = sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree))
    return jnp.sqrt(lax.psum(squares, axis_names))
