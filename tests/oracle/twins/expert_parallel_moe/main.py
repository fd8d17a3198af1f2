"""Switch-style mixture of experts: tokens travel to their expert's device and back."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class MoEConfig:
    d_model = 8
    d_ff = 16
    num_experts = 8
    capacity_factor = 8.0
    expert_axis = "expert"


def init(key, cfg):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "router": jax.random.normal(k1, (cfg.d_model, cfg.num_experts)),
        "wi": jax.random.normal(k2, (cfg.num_experts, cfg.d_model, cfg.d_ff)) * 0.3,
        "wo": jax.random.normal(k3, (cfg.num_experts, cfg.d_ff, cfg.d_model)) * 0.3,
    }


def route(router, x, capacity):
    probs = jax.nn.softmax(x @ router)
    expert = jnp.argmax(probs, axis=-1)
    onehot = jax.nn.one_hot(expert, router.shape[-1])
    position = (jnp.cumsum(onehot, axis=0) - 1.0) * onehot
    keep = (position < capacity) * onehot
    slot = jax.nn.one_hot(position.sum(-1).astype(int), capacity)
    dispatch = keep[:, :, None] * slot[:, None, :]
    return dispatch, dispatch * probs.max(-1)[:, None, None], probs, onehot


def experts(wi, wo, x):
    return jnp.einsum("ecf,efd->ecd", jax.nn.relu(jnp.einsum("ecd,edf->ecf", x, wi)), wo)


def balance_loss(probs, onehot, axis=None):
    density, prob = onehot.mean(0), probs.mean(0)
    if axis is not None:
        density, prob = lax.pmean((density, prob), axis)
    return probs.shape[-1] * jnp.sum(density * prob)


def dense_moe(params, x):
    dispatch, combine, probs, onehot = route(params["router"], x, x.shape[0])
    y = experts(params["wi"], params["wo"], jnp.einsum("nec,nd->ecd", dispatch, x))
    return jnp.einsum("nec,ecd->nd", combine, y), balance_loss(probs, onehot)


def local_moe(params, x, *, cfg):
    capacity = math.ceil(cfg.capacity_factor * x.shape[0] / cfg.num_experts)
    dispatch, combine, probs, onehot = route(params["router"], x, capacity)
    sent = jnp.einsum("nec,nd->ecd", dispatch, x)
    received = lax.all_to_all(sent, cfg.expert_axis, split_axis=0, concat_axis=1, tiled=True)
    y = experts(params["wi"], params["wo"], received)
    y = lax.all_to_all(y, cfg.expert_axis, split_axis=1, concat_axis=0, tiled=True)
    return jnp.einsum("nec,ecd->nd", combine, y), balance_loss(probs, onehot, cfg.expert_axis)


def build(cfg, mesh):
    weights = {"router": P(), "wi": P(cfg.expert_axis), "wo": P(cfg.expert_axis)}
    tokens = P(cfg.expert_axis, None)
    fn = jax.shard_map(partial(local_moe, cfg=cfg), mesh=mesh, in_specs=(weights, tokens), out_specs=(tokens, P()))
    shardings = jax.tree.map(partial(NamedSharding, mesh), weights, is_leaf=lambda s: isinstance(s, P))
    return jax.jit(fn), shardings


def main():
    cfg = MoEConfig()
    mesh = Mesh(np.array(jax.devices()), (cfg.expert_axis,))
    moe, shardings = build(cfg, mesh)
    params = init(jax.random.key(0), cfg)
    x = jax.random.normal(jax.random.key(1), (64, cfg.d_model))
    want, want_aux = dense_moe(params, x)
    got, aux = moe(jax.device_put(params, shardings), x)
    return bool(jnp.allclose(got, want, atol=1e-4) & jnp.allclose(aux, want_aux, rtol=1e-4))


agrees = main()
