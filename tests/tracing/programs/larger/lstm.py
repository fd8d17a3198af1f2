"""An LSTM over time in a scan, data parallel, two layers, an embedding and a sampled softmax, gradient clipping."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, V, B, T = 512, 10000, 128, 64
tx = optax.chain(optax.clip_by_global_norm(0.5), optax.rmsprop(1e-3))


def cell(p, carry, x):
    h, c = carry
    i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


@jax.jit
def step(p, s, tokens):
    def loss(p):
        x = jnp.swapaxes(p["embed"][tokens], 0, 1)
        for q in p["cells"]:
            z = jnp.zeros((B, D))
            _, x = jax.lax.scan(lambda c, x, q=q: cell(q, c, x), (z, z), x)
        logits = x @ p["out"]
        return optax.softmax_cross_entropy_with_integer_labels(logits[:-1], tokens.T[1:]).mean()

    v, g = jax.value_and_grad(loss)(p)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, v


def entry():
    mesh = Mesh(np.array(jax.devices()), ("data",))

    def f(s, *spec, t=jnp.float32):
        return jax.ShapeDtypeStruct(s, t, sharding=NamedSharding(mesh, P(*spec)))

    def c():
        return {"wx": f((D, 4 * D)), "wh": f((D, 4 * D)), "b": f((4 * D,))}

    p = {"embed": f((V, D)), "cells": [c(), c()], "out": f((D, V))}
    s = jax.tree.map(lambda x: f(x.shape, t=x.dtype), jax.eval_shape(tx.init, p))
    return step, (p, s, f((B, T), "data", t=jnp.int32))
