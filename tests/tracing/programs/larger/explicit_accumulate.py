"""Gradients accumulated in a scan over microbatches, with explicit axes that leave a copy around each value."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, reshard
from jax.sharding import PartitionSpec as P

D, F, H, HD, V = 512, 2048, 8, 64, 4096


def block(w, x):
    h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    qkv = jnp.einsum("btd,dchk->cbthk", h, w["qkv"])
    q, k, v = qkv
    a = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, k) / HD**0.5)
    o = jnp.einsum("bhts,bshk->bthk", a, v)
    x = x + jnp.einsum("bthk,hkd->btd", o, w["o"], out_sharding=P("data", None, None))
    h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    h = jax.nn.gelu(jnp.einsum("btd,df->btf", h, w["up"]))
    return x + jnp.einsum("btf,fd->btd", h, w["down"], out_sharding=P("data", None, None))


def loss_fn(params, tokens, labels):
    x = params["embed"].at[tokens].get(out_sharding=P("data", None, None))
    for w in params["blocks"]:
        x = jax.checkpoint(block)(w, x)
    logits = jnp.einsum("btd,dv->btv", x, params["head"])
    m = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    lse = jnp.log(jnp.exp(logits - m).sum(-1)) + m[..., 0]
    hot = jax.nn.one_hot(labels, V, dtype=logits.dtype)
    hot = reshard(hot, P("data", None, "model"))
    return (lse - (logits * hot).sum(-1)).mean()


def step(params, tokens, labels):
    def micro(acc, b):
        value, grads = jax.value_and_grad(loss_fn)(params, *b)
        return jax.tree.map(jnp.add, acc, (value, grads)), None

    zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
    (value, grads), _ = jax.lax.scan(micro, zero, (tokens, labels))
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), value


def entry():
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)

    def of(shape, *spec, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype, sharding=jax.NamedSharding(mesh, P(*spec)))

    w = {
        "qkv": of((D, 3, H, HD), None, None, "model", None),
        "o": of((H, HD, D), "model", None, None),
        "up": of((D, F), None, "model"),
        "down": of((F, D), "model", None),
    }
    params = {"embed": of((V, D), None, None), "blocks": [w, dict(w)], "head": of((D, V), None, "model")}
    t = of((3, 16, 64), None, "data", None, dtype=jnp.int32)
    with jax.set_mesh(mesh):
        yield jax.jit(step), (params, t, t)
