# convert: statistics
"""What mixes rows: jit keeps its numbers, whatever it does with them."""

import jax
import jax.numpy as jnp


@jax.jit
def statistics(x):
    ranks = jnp.argsort(jnp.argsort(x[:, 0]))
    return {
        "running": jnp.cumsum(x, axis=0),
        "sorted": jnp.sort(x, axis=0),
        "median": jnp.median(x, axis=0),
        "ranks": ranks,
        "gram": x @ x.T,
        "scan": jax.lax.associative_scan(jnp.add, x, axis=0),
    }


x = jax.random.normal(jax.random.key(0), (40, 3))
found = statistics(x)
running, ordered, median, ranks = found["running"], found["sorted"], found["median"], found["ranks"]
gram, scanned = found["gram"], found["scan"]
