"""Megatron sequence parallelism: activations between blocks are sharded over the sequence on the tensor axis."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, H, B, T, L = 2048, 8192, 16, 8, 1024, 2


def make(mesh):
    def c(x, *s):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*s)))

    def rms(x, g):
        y = x.astype(jnp.float32)
        return (y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6) * g).astype(x.dtype)

    def fwd(params, x):
        x = c(x, "data", "tensor")
        for p in params:
            h = c(rms(x, p["n1"]), "data")
            q, k, v = (c(jnp.einsum("btd,dhk->bthk", h, p[n]), "data", None, "tensor") for n in ("q", "k", "v"))
            a = jax.nn.softmax(jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) / 11.3).astype(x.dtype)
            o = jnp.einsum("bhqt,bthk->bqhk", a, v)
            x = x + c(jnp.einsum("bqhk,hkd->bqd", o, p["o"]), "data", "tensor")
            h = c(rms(x, p["n2"]), "data")
            h = jax.nn.gelu(c(h @ p["up"], "data", None, "tensor"))
            x = x + c(h @ p["down"], "data", "tensor")
        return x

    def loss(params, x, y):
        o = fwd(jax.tree.map(lambda w: w.astype(jnp.bfloat16), params), x.astype(jnp.bfloat16))
        return jnp.mean((o.astype(jnp.float32) - y) ** 2)

    return jax.jit(jax.grad(loss))


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 4), ("data", "tensor"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    K = D // H

    def p():
        return {
            "n1": f((D,)),
            "n2": f((D,)),
            "q": f((D, H, K), None, "tensor"),
            "k": f((D, H, K), None, "tensor"),
            "v": f((D, H, K), None, "tensor"),
            "o": f((H, K, D), "tensor"),
            "up": f((D, F), None, "tensor"),
            "down": f((F, D), "tensor"),
        }

    x = f((B, T, D), "data", "tensor")
    return make(mesh), ([p() for _ in range(L)], x, x)
