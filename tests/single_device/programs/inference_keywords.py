# convert: predict
"""Inference with keywords, a default and a dictionary of features."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.jit, static_argnames=("activation",))
def predict(params, features, *, activation="tanh", temperature=1.0):
    hidden = features["dense"] @ params["w1"] + params["b1"]
    hidden = getattr(jnp, activation)(hidden)
    logits = hidden @ params["w2"] + features["bias"][:, None]
    return jax.nn.softmax(logits / temperature, axis=-1)


rng = np.random.default_rng(0)
params = {"w1": rng.normal(size=(5, 7)), "b1": np.zeros(7), "w2": rng.normal(size=(7, 3))}
features = {"dense": rng.normal(size=(24, 5)), "bias": rng.normal(size=24)}
probabilities = predict(params, features=features, activation="sin", temperature=2.0)
labels = np.argmax(np.asarray(probabilities), axis=-1)
first = probabilities[0]
