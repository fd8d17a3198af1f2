"""What is told of a training."""

import jax
import steps


def later(params):
    inputs = jax.random.normal(jax.random.key(99), (24, 3))
    return steps.error(params, inputs, inputs.sum(axis=1))
