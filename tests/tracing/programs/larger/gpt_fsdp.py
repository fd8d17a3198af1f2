"""Decoder-only transformer: FSDP, layers in a scan, remat, AdamW, mixed precision, rotary, grouped queries."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, H, KV, L, V, B, T = 1024, 2816, 16, 4, 8, 32000, 32, 512


def norm(x, g):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32**2, -1, keepdims=True) + 1e-6)).astype(x.dtype) * g.astype(x.dtype)


def rope(x):
    t = jnp.arange(x.shape[1], dtype=jnp.float32)
    f = 1.0 / 10000 ** (jnp.arange(0, x.shape[-1], 2) / x.shape[-1])
    a = t[:, None] * f
    c, s = jnp.cos(a)[:, None], jnp.sin(a)[:, None]
    x1, x2 = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], -1).astype(x.dtype)


def block(x, p):
    p = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
    h = norm(x, p["n1"])
    q = rope((h @ p["wq"]).reshape(*h.shape[:2], H, -1))
    k = rope((h @ p["wk"]).reshape(*h.shape[:2], KV, -1))
    v = (h @ p["wv"]).reshape(*h.shape[:2], KV, -1)
    k, v = jnp.repeat(k, H // KV, 2), jnp.repeat(v, H // KV, 2)
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / np.sqrt(D // H)
    s = jnp.where(jnp.tril(jnp.ones((T, T), bool)), s, -1e9)
    a = jax.nn.softmax(s).astype(x.dtype)
    o = jnp.einsum("bhqk,bkhd->bqhd", a, v).reshape(x.shape)
    x = x + o @ p["wo"]
    h = norm(x, p["n2"])
    return x + (jax.nn.silu(h @ p["wg"]) * (h @ p["wu"])) @ p["wd"]


def loss_fn(params, tokens):
    x = params["embed"].astype(jnp.bfloat16)[tokens]
    body = jax.checkpoint(lambda x, p: (block(x, p), None), policy=jax.checkpoint_policies.nothing_saveable)
    x, _ = jax.lax.scan(body, x, params["layers"])
    logits = (norm(x, params["nf"]) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()


tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-3, 10, 100)))


@partial(jax.jit, donate_argnums=(0, 1))
def step(params, state, tokens):
    loss, g = jax.value_and_grad(loss_fn)(params, tokens)
    u, state = tx.update(g, state, params)
    return optax.apply_updates(params, u), state, loss


def init():
    k = iter(jax.random.split(jax.random.key(0), 32))

    def n(*s):
        return jax.random.normal(next(k), s) * 0.02

    hd = D // H
    layers = {
        "n1": jnp.ones((L, D)),
        "n2": jnp.ones((L, D)),
        "wq": n(L, D, D),
        "wk": n(L, D, KV * hd),
        "wv": n(L, D, KV * hd),
        "wo": n(L, D, D),
        "wg": n(L, D, F),
        "wu": n(L, D, F),
        "wd": n(L, F, D),
    }
    return {"embed": n(V, D), "layers": layers, "nf": jnp.ones((D,)), "head": n(D, V)}


def entry():
    mesh = Mesh(np.array(jax.devices()), ("fsdp",))

    def place(leaf):
        if leaf.ndim < 2:
            spec = P()
        elif leaf.ndim == 3:
            spec = P(None, "fsdp")
        else:
            spec = P("fsdp") if leaf.shape[0] in (V, D) and leaf.shape[1] in (V, D) else P()
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    params = jax.tree.map(place, jax.eval_shape(init))
    state = jax.tree.map(place, jax.eval_shape(tx.init, params))
    tokens = jax.ShapeDtypeStruct((B, T), jnp.int32, sharding=NamedSharding(mesh, P("fsdp")))
    return step, (params, state, tokens)
