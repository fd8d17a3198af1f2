"""data × fsdp × tensor with layers in a scan, remat that saves named values, constraints from a set_mesh."""

import jax
import jax.numpy as jnp
import optax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, H, L, V, B, T = 1024, 4096, 16, 4, 32000, 16, 512
tx = optax.lion(1e-4)
BATCH = ("data", "fsdp")


def c(x, *s):
    return jax.lax.with_sharding_constraint(x, P(*s))


def layer(x, p):
    p = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
    h = x * p["n1"]
    q, k, v = (c(jnp.einsum("btd,dhk->bthk", h, p[n]), BATCH, None, "tensor") for n in "qkv")
    a = jax.nn.softmax(jnp.einsum("bqhk,bthk->bhqt", q, k).astype(jnp.float32) / 8).astype(x.dtype)
    o = checkpoint_name(jnp.einsum("bhqt,bthk->bqhk", a, v), "attn")
    x = c(x + jnp.einsum("bqhk,hkd->bqd", o, p["o"]), BATCH)
    h = checkpoint_name(c((x * p["n2"]) @ p["up"], BATCH, None, "tensor"), "up")
    return c(x + jax.nn.relu(h) @ p["down"], BATCH), None


def loss(p, tokens):
    x = c(p["embed"].astype(jnp.bfloat16)[tokens], BATCH)
    policy = jax.checkpoint_policies.save_only_these_names("attn", "up")
    x, _ = jax.lax.scan(jax.checkpoint(layer, policy=policy), x, p["layers"])
    logits = c(jnp.einsum("btd,dv->btv", x, p["head"].astype(jnp.bfloat16)).astype(jnp.float32), BATCH, None, "tensor")
    return optax.losses.softmax_cross_entropy(logits, jax.nn.one_hot(jnp.roll(tokens, -1, 1), V)).mean()


@jax.jit
def step(p, s, tokens):
    v, g = jax.value_and_grad(loss)(p, tokens)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, {"loss": v, "norm": optax.global_norm(g)}


def entry():
    mesh = jax.make_mesh((2, 2, 2), ("data", "fsdp", "tensor"), axis_types=(AxisType.Auto,) * 3)
    jax.set_mesh(mesh)

    def f(s, *spec, t=jnp.float32):
        return jax.ShapeDtypeStruct(s, t, sharding=NamedSharding(mesh, P(*spec)))

    K = D // H

    def w():
        return f((L, D, H, K), None, "fsdp", "tensor")

    layers = {
        "n1": f((L, D)),
        "n2": f((L, D)),
        "q": w(),
        "k": w(),
        "v": w(),
        "o": f((L, H, K, D), None, "tensor", None, "fsdp"),
        "up": f((L, D, F), None, "fsdp", "tensor"),
        "down": f((L, F, D), None, "tensor", "fsdp"),
    }
    p = {"embed": f((V, D), "tensor", "fsdp"), "layers": layers, "head": f((D, V), "fsdp", "tensor")}
    s = jax.eval_shape(tx.init, p)
    mu = jax.tree.map(lambda q: q, p)
    s = (s[0]._replace(count=f((), t=jnp.int32), mu=mu), *s[1:])
    return step, (p, s, f((B, T), BATCH, t=jnp.int32))
