"""Decoding one token with a split cache, in a scan over the layers."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, model=4)

    @jax.jit
    def step(ws, cache, x, pos):
        def layer(x, w_and_cache):
            w, (k, v) = w_and_cache
            q, nk, nv = (jnp.einsum("bd,dnh->bnh", x, w[n]) for n in ("q", "k", "v"))
            k = jax.lax.dynamic_update_slice_in_dim(k, nk[:, None], pos, 1)
            v = jax.lax.dynamic_update_slice_in_dim(v, nv[:, None], pos, 1)
            p = jax.nn.softmax(jnp.einsum("bnh,bsnh->bns", q, k) + jnp.where(jnp.arange(k.shape[1]) <= pos, 0.0, -1e9))
            o = jnp.einsum("bns,bsnh->bnh", p, v)
            x = x + jnp.einsum("bnh,nhd->bd", o, w["o"])
            x = x + jax.nn.silu(x @ w["up"]) @ w["down"]
            return x, (k, v)

        return jax.lax.scan(layer, x, (ws, cache))

    L = 4
    ws = {n: abstract(mesh, P(None, None, "model"), L, 256, 8, 32) for n in "qkv"}
    ws |= {
        "o": abstract(mesh, P(None, "model"), L, 8, 32, 256),
        "up": abstract(mesh, P(None, None, "model"), L, 256, 1024),
        "down": abstract(mesh, P(None, "model"), L, 1024, 256),
    }
    kv = abstract(mesh, P(None, "data", None, "model"), L, 8, 128, 8, 32)
    return step, (ws, (kv, kv), abstract(mesh, P("data"), 8, 256), jax.ShapeDtypeStruct((), jnp.int32))
