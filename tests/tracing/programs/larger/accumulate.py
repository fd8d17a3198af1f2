"""Gradient accumulation over microbatches with FSDP parameters, sharded accumulators and Adam."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, L, B, M = 1024, 4096, 3, 512, 4
tx = optax.adam(1e-3)


def make(mesh):
    def loss(p, x, y):
        h = x
        for w in p["layers"]:
            h = h + jax.nn.relu(h @ w["a"] + w["ba"]) @ w["b"]
        return jnp.mean((h @ p["out"] - y) ** 2)

    @jax.jit
    def step(p, s, x, y):
        xs = x.reshape(M, B // M, D)
        ys = y.reshape(M, B // M, -1)
        xs = jax.lax.with_sharding_constraint(xs, NamedSharding(mesh, P(None, "fsdp")))
        ys = jax.lax.with_sharding_constraint(ys, NamedSharding(mesh, P(None, "fsdp")))

        def one(carry, xy):
            v, g = jax.value_and_grad(loss)(p, *xy)
            return (carry[0] + v, jax.tree.map(jnp.add, carry[1], g)), None

        zero = jax.tree.map(jnp.zeros_like, p)
        (v, g), _ = jax.lax.scan(one, (0.0, zero), (xs, ys))
        g = jax.tree.map(lambda g: g / M, g)
        u, s = tx.update(g, s, p)
        return optax.apply_updates(p, u), s, v / M

    return step


def entry():
    mesh = Mesh(np.array(jax.devices()), ("fsdp",))

    def f(*s):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P("fsdp")))

    p = {"layers": [{"a": f(D, F), "ba": f(F), "b": f(F, D)} for _ in range(L)], "out": f(D, 256)}
    s = jax.eval_shape(tx.init, p)
    s = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P("fsdp") if x.ndim else P())), s
    )
    return make(mesh), (p, s, f(B, D), f(B, 256))
