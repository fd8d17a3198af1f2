"""SigLIP's sigmoid loss, where text embeddings go round the ring of devices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class Tower(eqx.Module):
    mlp: eqx.nn.MLP

    def __init__(self, in_size, dim, key):
        self.mlp = eqx.nn.MLP(in_size, dim, 16, 1, key=key)

    def __call__(self, x):
        z = jax.vmap(self.mlp)(x)
        return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


class SigLIP(eqx.Module):
    image: Tower
    text: Tower
    scale: jax.Array
    bias: jax.Array
    dim: int = eqx.field(static=True)

    def __init__(self, dim, *, key):
        k1, k2 = jr.split(key)
        self.image, self.text = Tower(6, dim, k1), Tower(5, dim, k2)
        self.scale, self.bias = jnp.array(2.0), jnp.array(-1.0)
        self.dim = dim

    def pair_loss(self, zi, zt, positive):
        logits = self.scale * zi @ zt.T + self.bias
        labels = 2 * jnp.eye(zi.shape[0]) * positive - 1
        return -jax.nn.log_sigmoid(labels * logits).sum()


AXIS = "data"


def ring_loss(model, images, texts):
    n = lax.axis_size(AXIS)
    zi, zt = model.image(images), model.text(texts)
    total = model.pair_loss(zi, zt, 1.0)
    for _ in range(n - 1):
        zt = lax.ppermute(zt, AXIS, [(i, (i + 1) % n) for i in range(n)])
        total = total + model.pair_loss(zi, zt, 0.0)
    rows = lax.psum(images.shape[0], AXIS)
    return lax.psum(total, AXIS) / rows


def full_loss(model, images, texts):
    zi, zt = model.image(images), model.text(texts)
    return model.pair_loss(zi, zt, 1.0) / images.shape[0]


def build(model, optim, mesh):
    data = PartitionSpec(AXIS)

    def loss_fn(model, images, texts):
        params, static = eqx.partition(model, eqx.is_array)
        local = jax.shard_map(
            lambda p, x, y: ring_loss(eqx.combine(p, static), x, y),
            mesh=mesh,
            in_specs=(PartitionSpec(), data, data),
            out_specs=PartitionSpec(),
        )
        return local(params, images, texts)

    @eqx.filter_jit
    def step(model, opt_state, images, texts):
        loss, grads = eqx.filter_value_and_grad(loss_fn)(model, images, texts)
        updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss

    return step


def main():
    mesh = Mesh(np.array(jax.devices()), (AXIS,))
    key = jr.key(5)
    k_model, k_img, k_txt = jr.split(key, 3)
    model = SigLIP(8, key=k_model)
    images, texts = jr.normal(k_img, (24, 6)), jr.normal(k_txt, (24, 5))
    optim = optax.sgd(0.5)
    opt_state = optim.init(eqx.filter(model, eqx.is_array))
    want, grads = eqx.filter_value_and_grad(full_loss)(model, images, texts)
    dense = eqx.apply_updates(model, optim.update(grads, opt_state)[0])
    sharding = NamedSharding(mesh, PartitionSpec(AXIS))
    images, texts = eqx.filter_shard((images, texts), sharding)
    model, opt_state, loss = build(model, optim, mesh)(model, opt_state, images, texts)
    close = jax.tree.map(
        lambda a, b: jnp.allclose(a, b, atol=1e-4), *(eqx.filter(m, eqx.is_array) for m in (model, dense))
    )
    return bool(jnp.allclose(loss, want, rtol=1e-4)) and all(map(bool, jax.tree.leaves(close)))


agrees = main()
