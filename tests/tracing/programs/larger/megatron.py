"""Data × tensor parallel decoder, unrolled layers, constraints, vocab-parallel embedding and loss, remat of dots."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, H, V, B, T, L = 1024, 4096, 16, 32768, 16, 256, 3


def ln(x, p):
    m = jnp.mean(x, -1, keepdims=True)
    v = jnp.var(x, -1, keepdims=True)
    return (x - m) / jnp.sqrt(v + 1e-5) * p["g"] + p["b"]


def make(mesh):
    def c(x, *spec):
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def layer(p, x):
        h = ln(x, p["ln1"]).astype(jnp.bfloat16)
        qkv = (
            jnp.einsum("btd,dchk->cbthk", h, p["qkv"].astype(jnp.bfloat16))
            + p["bqkv"].astype(jnp.bfloat16)[:, None, None]
        )
        qkv = c(qkv, None, "data", None, "model", None)
        q, k, v = qkv
        w = jax.nn.softmax((jnp.einsum("bqhk,bthk->bhqt", q, k) / 8.0).astype(jnp.float32), -1)
        o = jnp.einsum("bhqt,bthk->bqhk", w.astype(jnp.bfloat16), v)
        x = x + c(jnp.einsum("bqhk,hkd->bqd", o, p["o"].astype(jnp.bfloat16)), "data").astype(jnp.float32) + p["bo"]
        h = ln(x, p["ln2"]).astype(jnp.bfloat16)
        h = jax.nn.gelu(c(h @ p["up"].astype(jnp.bfloat16) + p["bup"].astype(jnp.bfloat16), "data", None, "model"))
        return x + c(h @ p["down"].astype(jnp.bfloat16), "data").astype(jnp.float32) + p["bdown"]

    def loss(params, tokens, targets):
        x = c(jnp.take(params["embed"], tokens, axis=0), "data")
        for p in params["layers"]:
            x = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)(p, x)
        x = ln(x, params["lnf"])
        logits = c(jnp.einsum("btd,vd->btv", x, params["embed"]), "data", None, "model")
        m = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
        lse = jnp.log(jnp.exp(logits - m).sum(-1)) + m[..., 0]
        hit = jnp.sum(jax.nn.one_hot(targets, V) * logits, -1)
        return jnp.mean(lse - hit)

    @jax.jit
    def step(params, tokens, targets):
        value, g = jax.value_and_grad(loss)(params, tokens, targets)
        return value, jax.tree.map(lambda p, g: p - 1e-3 * g, params, g)

    return step


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 4), ("data", "model"))

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    K = D // H

    def n():
        return {"g": f((D,)), "b": f((D,))}

    def layer():
        return {
            "ln1": n(),
            "ln2": n(),
            "qkv": f((D, 3, H, K), None, None, "model"),
            "bqkv": f((3, H, K), None, "model"),
            "o": f((H, K, D), "model"),
            "bo": f((D,)),
            "up": f((D, F), None, "model"),
            "bup": f((F,), "model"),
            "down": f((F, D), "model"),
            "bdown": f((D,)),
        }

    params = {"embed": f((V, D), "model"), "layers": [layer() for _ in range(L)], "lnf": n()}
    tok = jax.ShapeDtypeStruct((B, T), jnp.int32, sharding=NamedSharding(mesh, P("data")))
    return make(mesh), (params, tok, tok)
