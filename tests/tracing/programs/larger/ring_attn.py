"""Causal ring attention with grouped queries over a sequence axis, batch over data, gradient through the ring."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, H, KV, B, T = 1024, 16, 4, 4, 4096


def make(mesh):
    def ring(q, k, v):
        n, me = lax.axis_size("seq"), lax.axis_index("seq")
        t = q.shape[1]
        pos = jnp.arange(t)

        def turn(i, carry):
            k, v, acc, m, total = carry
            src = (me - i) % n
            s = jnp.einsum("bqkgd,btkd->bkgqt", q, k, preferred_element_type=jnp.float32) / 8
            ok = (me * t + pos)[:, None] >= (src * t + pos)[None]
            s = jnp.where(ok, s, -1e30)
            mn = jnp.maximum(m, s.max(-1))
            p = jnp.exp(s - mn[..., None])
            a = jnp.exp(m - mn)
            acc = acc * a[..., None] + jnp.einsum(
                "bkgqt,btkd->bkgqd", p.astype(v.dtype), v, preferred_element_type=jnp.float32
            )
            total = total * a + p.sum(-1)
            perm = [(j, (j + 1) % n) for j in range(n)]
            k, v = lax.ppermute((k, v), "seq", perm)
            return k, v, acc, mn, total

        b, _, kv, g, d = q.shape
        z = jnp.zeros((b, kv, g, t, d), jnp.float32)
        m0 = jnp.full((b, kv, g, t), -jnp.inf)
        z, m0, l0 = jax.tree.map(
            lambda x: lax.pcast(x, ("data", "seq"), to="varying"), (z, m0, jnp.zeros((b, kv, g, t)))
        )
        _, _, acc, _, total = lax.fori_loop(0, n, turn, (k, v, z, m0, l0))
        return jnp.einsum("bkgqd->bqkgd", acc / total[..., None]).astype(q.dtype)

    attention = jax.shard_map(ring, mesh=mesh, in_specs=(P("data", "seq"),) * 3, out_specs=P("data", "seq"))

    def loss(p, x):
        h = x.astype(jnp.bfloat16)
        w = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
        q = (h @ w["q"]).reshape(B, T, KV, H // KV, -1)
        k = (h @ w["k"]).reshape(B, T, KV, -1)
        v = (h @ w["v"]).reshape(B, T, KV, -1)
        o = attention(q, k, v).reshape(B, T, D) @ w["o"]
        return jnp.mean((x + o.astype(jnp.float32)) ** 2)

    return jax.jit(jax.value_and_grad(loss))


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "seq"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    p = {"q": f((D, D)), "k": f((D, D * KV // H)), "v": f((D, D * KV // H)), "o": f((D, D))}
    return make(mesh), (p, f((B, T, D), "data", "seq"))
