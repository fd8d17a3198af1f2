"""GPipe over a stage axis with two layers a stage, data parallel, remat in the stage, embedding and head outside."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, V, B, T, M, S = 768, 3072, 8192, 32, 128, 8, 4


def make(mesh):
    def layer(x, p):
        h = x * lax.rsqrt(jnp.mean(x.astype(jnp.float32) ** 2, -1, keepdims=True) + 1e-6).astype(x.dtype)
        return x + jax.nn.gelu(h @ p["w1"] + p["b1"]) @ p["w2"], None

    @jax.checkpoint
    def stage(params, x):
        return lax.scan(layer, x, params)[0]

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("stage"), P(None, "data")), out_specs=P(None, "data"))
    def pipeline(params, xs):
        i, n = lax.axis_index("stage"), lax.axis_size("stage")
        params = jax.tree.map(lambda p: p[0], params)

        def tick(carry, t):
            buf, out = carry
            x = jnp.where(i == 0, xs[jnp.minimum(t, M - 1)], buf)
            y = stage(params, x)
            w = jnp.maximum(t - (n - 1), 0)
            out = jnp.where((i == n - 1) & (t >= n - 1), out.at[w].set(y), out)
            return (lax.ppermute(y, "stage", [(j, (j + 1) % n) for j in range(n)]), out), None

        z = lax.pcast(xs, "stage", to="varying")
        (_, out), _ = lax.scan(tick, (jnp.zeros_like(z[0]), jnp.zeros_like(z)), jnp.arange(M + S - 1))
        return lax.psum(jnp.where(i == n - 1, out, 0), "stage")

    def loss(p, tokens, labels):
        x = p["embed"].astype(jnp.bfloat16)[tokens].reshape(M, B // M, T, D)
        half = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p["stages"])
        y = pipeline(half, x).reshape(B, T, D)
        logits = (y @ p["head"].astype(jnp.bfloat16)).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()

    @partial(jax.jit, donate_argnums=0)
    def step(p, tokens, labels):
        v, g = jax.value_and_grad(loss)(p, tokens, labels)
        return jax.tree.map(lambda p, g: p - 0.1 * g, p, g), v

    return step


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, S), ("data", "stage"))

    def f(s, *spec, t=jnp.float32):
        return jax.ShapeDtypeStruct(s, t, sharding=NamedSharding(mesh, P(*spec)))

    stages = {"w1": f((S, 2, D, F), "stage"), "b1": f((S, 2, F), "stage"), "w2": f((S, 2, F, D), "stage")}
    tok = f((B, T), "data", t=jnp.int32)
    return make(mesh), ({"embed": f((V, D)), "stages": stages, "head": f((D, V))}, tok, tok)
