"""Gradients of microbatches added up in a scan, on a mesh of three axes, with rematerialization."""

import jax
import jax.numpy as jnp
from common import abstract, mesh_of
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def entry():
    mesh = mesh_of(data=2, fsdp=2, tp=2)

    def block(x, w):
        h = jax.nn.silu(jnp.einsum("btd,df->btf", x, w["gate"])) * jnp.einsum("btd,df->btf", x, w["up"])
        return x + jnp.einsum("btf,fd->btd", h, w["down"])

    def loss(ws, tokens):
        x = jnp.cos(tokens[..., None] * jnp.arange(256.0))
        x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(("data", "fsdp"))))

        def body(x, w):
            x = jax.checkpoint(block)(x, w)
            return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(("data", "fsdp")))), None

        x, _ = jax.lax.scan(body, x, ws)
        return jnp.mean(x**2)

    @jax.jit
    def step(ws, micro):
        def one(acc, tokens):
            value, g = jax.value_and_grad(loss)(ws, tokens)
            return jax.tree.map(jnp.add, acc, (value, g)), None

        zero = (0.0, jax.tree.map(jnp.zeros_like, ws))
        (value, g), _ = jax.lax.scan(one, zero, micro)
        return jax.tree.map(lambda w, d: w - 0.01 * d / 4, ws, g), value / 4

    ws = {
        "gate": abstract(mesh, P(None, "fsdp", "tp"), 3, 256, 1024),
        "up": abstract(mesh, P(None, "fsdp", "tp"), 3, 256, 1024),
        "down": abstract(mesh, P(None, "tp", "fsdp"), 3, 1024, 256),
    }
    return step, (ws, abstract(mesh, P(None, ("data", "fsdp")), 4, 16, 64))
