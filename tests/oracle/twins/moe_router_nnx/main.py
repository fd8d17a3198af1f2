"""A mixture of experts in nnx: experts over one mesh axis, rows over both, a balance loss over all tokens."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

DATA, EXPERT = "data", "expert"
TOKENS, WIDTH, EXPERTS, CAPACITY = 64, 8, 8, 16


class Router(nnx.Module):
    def __init__(self, width, experts, *, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.gate = nnx.Linear(width, experts, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return jax.nn.softmax(self.gate(self.norm(x)))


class Experts(nnx.Module):
    def __init__(self, experts, width, *, rngs: nnx.Rngs):
        self.up = nnx.Param(jax.random.normal(rngs.params(), (experts, width, 2 * width)) * 0.3)
        self.down = nnx.Param(jax.random.normal(rngs.params(), (experts, 2 * width, width)) * 0.3)


def balance(probs, chosen, axes):
    """The fraction of tokens per expert times the mean probability per expert."""
    fraction = lax.pmean(jax.nn.one_hot(chosen, probs.shape[-1]).mean(axis=0), axes)
    importance = lax.pmean(probs.mean(axis=0), axes)
    return probs.shape[-1] * jnp.sum(fraction * importance)


def dispatch(x, chosen, experts):
    onehot = jax.nn.one_hot(chosen, experts)
    position = jnp.sum((jnp.cumsum(onehot, axis=0) - 1) * onehot, axis=-1).astype(jnp.int32)
    slots = onehot[:, :, None] * jax.nn.one_hot(position, CAPACITY)[:, None, :]
    return slots, jnp.einsum("tec,td->ecd", slots, x)


def moe_layer(router, up, down, x):
    probs = router(x)
    chosen = jnp.argmax(probs, axis=-1)
    slots, sent = dispatch(x, chosen, EXPERTS)
    local = lax.all_to_all(sent, EXPERT, split_axis=0, concat_axis=1, tiled=True)
    hidden = jax.nn.gelu(jnp.einsum("ecd,edh->ech", local, up))
    done = jnp.einsum("ech,ehd->ecd", hidden, down)
    back = lax.all_to_all(done, EXPERT, split_axis=1, concat_axis=0, tiled=True)
    gate = jnp.take_along_axis(probs, chosen[:, None], axis=-1)
    y = jnp.einsum("tec,ecd->td", slots, back) * gate
    return x + y, balance(probs, chosen, (DATA, EXPERT))


def alone(router, up, down, x):
    probs = router(x)
    chosen = jnp.argmax(probs, axis=-1)
    hidden = jax.nn.gelu(jnp.einsum("td,tdh->th", x, up[chosen]))
    y = jnp.einsum("th,thd->td", hidden, down[chosen])
    fraction = jax.nn.one_hot(chosen, EXPERTS).mean(axis=0)
    loss = EXPERTS * jnp.sum(fraction * probs.mean(axis=0))
    return x + y * jnp.take_along_axis(probs, chosen[:, None], axis=-1), loss


def main():
    mesh = jax.make_mesh((2, 4), (DATA, EXPERT), axis_types=(AxisType.Auto,) * 2)
    rngs = nnx.Rngs(0)
    router, experts = Router(WIDTH, EXPERTS, rngs=rngs), Experts(EXPERTS, WIDTH, rngs=rngs)
    x = jax.random.normal(jax.random.key(1), (TOKENS, WIDTH)) + jnp.linspace(-1, 1, TOKENS)[:, None]
    graphdef, gate = nnx.split(router)

    def layer(gate, up, down, x):
        return moe_layer(nnx.merge(graphdef, gate), up, down, x)

    sharded = jax.shard_map(
        layer,
        mesh=mesh,
        in_specs=(P(), P(EXPERT), P(EXPERT), P((DATA, EXPERT))),
        out_specs=(P((DATA, EXPERT)), P()),
    )
    up, down = experts.up[...], experts.down[...]
    want, want_loss = alone(router, up, down, x)
    rows = NamedSharding(mesh, P((DATA, EXPERT), None))
    got, loss = jax.jit(sharded)(gate, up, down, jax.device_put(x, rows))
    return bool(np.allclose(got, want, atol=1e-4)) and bool(np.allclose(loss, want_loss, atol=1e-4))


agrees = main()
