"""flax.linen vision transformer: patches by a convolution, nn.scan and nn.remat of blocks, logical axes, bf16."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

RULES = (("batch", "data"), ("embed", None), ("mlp", "model"), ("heads", "model"), ("kv", None), ("layers", None))
part = nn.with_logical_partitioning


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        d = x.shape[-1]
        h = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        init = nn.initializers.xavier_uniform()
        q, k, v = (
            nn.DenseGeneral((12, 64), dtype=jnp.bfloat16, kernel_init=part(init, ("embed", "heads", "kv")), name=n)(h)
            for n in "qkv"
        )
        o = nn.dot_product_attention(q, k, v)
        x = x + nn.DenseGeneral(
            d, axis=(-2, -1), dtype=jnp.bfloat16, kernel_init=part(init, ("heads", "kv", "embed")), name="o"
        )(o)
        h = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        h = nn.gelu(nn.Dense(4 * d, dtype=jnp.bfloat16, kernel_init=part(init, ("embed", "mlp")), name="up")(h))
        h = nn.with_logical_constraint(h, ("batch", None, "mlp"))
        x = x + nn.Dense(d, dtype=jnp.bfloat16, kernel_init=part(init, ("mlp", "embed")), name="down")(h)
        return nn.with_logical_constraint(x, ("batch", None, "embed")), None


class ViT(nn.Module):
    @nn.compact
    def __call__(self, images):
        x = nn.Conv(768, (16, 16), strides=16, dtype=jnp.bfloat16, name="patch")(images)
        x = x.reshape(x.shape[0], -1, 768)
        x = x + self.param("pos", nn.initializers.normal(0.02), (1, x.shape[1], 768)).astype(jnp.bfloat16)
        blocks = nn.scan(
            nn.remat(Block, prevent_cse=False),
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=6,
            metadata_params={nn.PARTITION_NAME: "layers"},
        )
        x, _ = blocks(name="blocks")(x, None)
        return nn.Dense(1000, name="head")(x.mean(1).astype(jnp.float32))


def step(state, images, labels):
    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn({"params": p}, images), labels).mean()

    v, g = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=g), v


def entry():
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    model = ViT()
    data = NamedSharding(mesh, P("data"))
    images = jax.ShapeDtypeStruct((128, 224, 224, 3), jnp.float32, sharding=data)

    def init():
        p = model.init(jax.random.key(0), jnp.zeros(images.shape))["params"]
        return train_state.TrainState.create(apply_fn=model.apply, params=p, tx=optax.adamw(1e-3))

    with mesh, nn.logical_axis_rules(RULES):
        abstract = jax.eval_shape(init)
        spec = nn.get_partition_spec(abstract)
        sharding = nn.logical_to_mesh_sharding(spec, mesh, RULES)
    state = jax.tree.map(lambda a, s: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s), nn.unbox(abstract), sharding)

    def run(state, images, labels):
        with mesh, nn.logical_axis_rules(RULES):
            return step(state, images, labels)

    f = jax.jit(run, donate_argnums=0, out_shardings=(sharding, None))
    return f, (state, images, jax.ShapeDtypeStruct((128,), jnp.int32, sharding=data))
