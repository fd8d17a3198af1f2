"""Explicit axes with set_mesh: weights sharded over fsdp and tensor, gathered by reshard before they are used."""

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, B, T, L = 1024, 4096, 16, 256, 3


def gather(w, spec):
    return jax.sharding.reshard(w.astype(jnp.bfloat16), spec)


def layer(x, p):
    h = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    h = jnp.einsum("btd,df->btf", h, gather(p["up"], P(None, "tensor")))
    h = jax.nn.silu(h)
    return x + jnp.einsum(
        "btf,fd->btd", h, gather(p["down"], P("tensor", None)), out_sharding=P("fsdp", None, None)
    ), None


@jax.jit
def step(params, x, y):
    def loss(params):
        o, _ = jax.lax.scan(jax.checkpoint(layer), x.astype(jnp.bfloat16), params)
        return jnp.mean((o.astype(jnp.float32) - y) ** 2)

    v, g = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, g), v


def entry():
    mesh = jax.make_mesh((4, 2), ("fsdp", "tensor"), axis_types=(AxisType.Explicit,) * 2)
    jax.set_mesh(mesh)

    def f(s, *spec):
        return jax.ShapeDtypeStruct(s, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    p = {"up": f((L, D, F), None, "fsdp", "tensor"), "down": f((L, F, D), None, "tensor", "fsdp")}
    x = f((B, T, D), "fsdp")
    return step, (p, x, x)
