"""Decoding with a key-value cache: tensor parallel heads, a scan over stacked layers, a while over tokens, sampling."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, H, KV, L, V, B, S = 2048, 5632, 16, 8, 4, 32000, 16, 1024
K = D // H


def rms(x, g):
    y = x.astype(jnp.float32)
    return (y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * g


def decode_one(params, cache, token, pos):
    x = params["embed"][token]

    def layer(x, pc):
        p, ck, cv = pc
        h = rms(x, p["n1"])
        q = jnp.einsum("bd,dhk->bhk", h, p["q"]).reshape(B, KV, H // KV, K)
        k, v = jnp.einsum("bd,dhk->bhk", h, p["k"]), jnp.einsum("bd,dhk->bhk", h, p["v"])
        ck = jax.lax.dynamic_update_slice_in_dim(ck, k[:, None], pos, 1)
        cv = jax.lax.dynamic_update_slice_in_dim(cv, v[:, None], pos, 1)
        s = jnp.einsum("bngk,bsnk->bngs", q, ck).astype(jnp.float32) / np.sqrt(K)
        s = jnp.where(jnp.arange(S) <= pos, s, -1e30)
        o = jnp.einsum("bngs,bsnk->bngk", jax.nn.softmax(s).astype(x.dtype), cv).reshape(B, H, K)
        x = x + jnp.einsum("bhk,hkd->bd", o, p["o"])
        h = rms(x, p["n2"])
        return x + (jax.nn.silu(h @ p["g"]) * (h @ p["u"])) @ p["d"], (ck, cv)

    x, cache = jax.lax.scan(layer, x, (params["layers"], *cache))
    return (rms(x, params["nf"]) @ params["head"]).astype(jnp.float32), cache


def generate(params, cache, token, key):
    def body(i, c):
        cache, token, key = c
        logits, cache = decode_one(params, cache, token, i)
        key, sub = jax.random.split(key)
        return cache, jax.random.categorical(sub, logits / 0.8), key

    return jax.lax.fori_loop(0, 32, body, (cache, token, key))


def entry():
    mesh = Mesh(np.array(jax.devices()), ("model",))

    def f(s, *spec, t=jnp.bfloat16):
        return jax.ShapeDtypeStruct(s, t, sharding=NamedSharding(mesh, P(*spec)))

    layers = {
        "n1": f((L, D)),
        "n2": f((L, D)),
        "q": f((L, D, H, K), None, None, "model"),
        "k": f((L, D, KV, K), None, None, "model"),
        "v": f((L, D, KV, K), None, None, "model"),
        "o": f((L, H, K, D), None, "model"),
        "g": f((L, D, F), None, None, "model"),
        "u": f((L, D, F), None, None, "model"),
        "d": f((L, F, D), None, "model"),
    }
    params = {"embed": f((V, D), None, "model"), "layers": layers, "nf": f((D,)), "head": f((D, V), None, "model")}
    cache = (f((L, B, S, KV, K), None, None, None, "model"),) * 2
    return jax.jit(generate, donate_argnums=1), (
        params,
        cache,
        f((B,), t=jnp.int32),
        jax.eval_shape(lambda: jax.random.key(0)),
    )
