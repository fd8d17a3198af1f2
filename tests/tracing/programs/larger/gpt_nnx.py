"""flax.nnx decoder with partitioned kernels, MultiHeadAttention, dropout-free, nnx.Optimizer, nnx.split / merge."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

D, F, V, B, T = 512, 2048, 16384, 32, 128


class Block(nnx.Module):
    def __init__(self, rngs):
        k = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
        k2 = nnx.with_partitioning(nnx.initializers.lecun_normal(), ("model", None))
        self.n1, self.n2 = nnx.LayerNorm(D, rngs=rngs), nnx.LayerNorm(D, rngs=rngs)
        self.qkv = nnx.Linear(D, 3 * D, use_bias=False, kernel_init=k, rngs=rngs)
        self.o = nnx.Linear(D, D, use_bias=False, kernel_init=k2, rngs=rngs)
        self.up, self.down = nnx.Linear(D, F, kernel_init=k, rngs=rngs), nnx.Linear(F, D, kernel_init=k2, rngs=rngs)

    def __call__(self, x):
        h = self.n1(x)
        q, k, v = jnp.split(self.qkv(h).reshape(*x.shape[:2], 8, -1), 3, -1)
        o = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(o.reshape(x.shape))
        return x + self.down(jax.nn.gelu(self.up(self.n2(x))))


class Model(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(
            V, D, embedding_init=nnx.with_partitioning(nnx.initializers.normal(0.02), ("model", None)), rngs=rngs
        )
        self.blocks = nnx.List([Block(rngs) for _ in range(3)])
        self.norm = nnx.LayerNorm(D, rngs=rngs)

    def __call__(self, t):
        x = self.embed(t)
        for b in self.blocks:
            x = b(x)
        return self.embed.attend(self.norm(x))


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))

    def make():
        m = Model(nnx.Rngs(0))
        return m, nnx.Optimizer(m, optax.adam(1e-3), wrt=nnx.Param)

    with jax.set_mesh(mesh):
        model, opt = nnx.eval_shape(make)
    graph, state = nnx.split((model, opt))
    specs = nnx.get_partition_spec(state)

    def place(a, s):
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(mesh, s if isinstance(s, P) else P()))

    leaves, tree = jax.tree.flatten(state)
    spec_leaves = jax.tree.leaves(specs, is_leaf=lambda s: isinstance(s, P))
    args = jax.tree.unflatten(tree, [place(a, s) for a, s in zip(leaves, spec_leaves, strict=True)])

    @jax.jit
    def step(state, tokens):
        model, opt = nnx.merge(graph, state)

        def loss(m):
            return optax.softmax_cross_entropy_with_integer_labels(m(tokens[:, :-1]), tokens[:, 1:]).mean()

        v, g = nnx.value_and_grad(loss)(model)
        opt.update(model, g)
        return nnx.state((model, opt)), v

    return step, (args, jax.ShapeDtypeStruct((B, T + 1), jnp.int32, sharding=NamedSharding(mesh, P("data"))))
