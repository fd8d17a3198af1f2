"""Sizes that the mesh does not divide: 10 heads and a vocabulary of 50257 constrained over four devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, H, K, V, B, T = 640, 10, 64, 50257, 8, 128


def make(mesh):
    def c(x, *s):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*s)))

    @jax.jit
    def step(p, tokens):
        def loss(p):
            x = p["embed"][tokens]
            q, k, v = (c(jnp.einsum("btd,dhk->bthk", x, p[n]), "data", None, "model") for n in "qkv")
            a = jax.nn.softmax(jnp.einsum("bqhk,bthk->bhqt", q, k))
            x = x + jnp.einsum("bhqt,bthk,hkd->bqd", a, v, p["o"])
            logits = c(x @ p["embed"].T, "data", None, "model")
            return jnp.mean(jax.nn.logsumexp(logits, -1))

        return jax.grad(loss)(p)

    return step


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 4), ("data", "model"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    p = {"embed": f((V, D)), "q": f((D, H, K)), "k": f((D, H, K)), "v": f((D, H, K)), "o": f((H, K, D))}
    return make(mesh), (p, jax.ShapeDtypeStruct((B, T), jnp.int32, sharding=NamedSharding(mesh, P("data"))))
