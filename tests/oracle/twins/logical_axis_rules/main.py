"""Flax linen with logical partitioning and axis rules, T5X/MaxText style."""

import functools

import flax.linen as nn
import jax
import numpy as np
import optax
from flax.training import train_state
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

LOGICAL_AXIS_RULES = (
    ("batch", "data"),
    ("embed", None),
    ("mlp", "tensor"),
    ("heads", "tensor"),
    ("vocab", "tensor"),
    ("sequence", None),
)


class MlpBlock(nn.Module):
    dim: int
    hidden: int

    @nn.compact
    def __call__(self, x):
        init = nn.initializers.lecun_normal()
        h = nn.Dense(self.hidden, kernel_init=nn.with_logical_partitioning(init, ("embed", "mlp")), use_bias=False)(x)
        h = nn.with_logical_constraint(nn.gelu(h), ("batch", "sequence", "mlp"))
        y = nn.Dense(self.dim, kernel_init=nn.with_logical_partitioning(init, ("mlp", "embed")), use_bias=False)(h)
        return nn.with_logical_constraint(y, ("batch", "sequence", "embed"))


class LanguageModel(nn.Module):
    vocab: int = 64
    dim: int = 16
    hidden: int = 32
    layers: int = 2

    @nn.compact
    def __call__(self, tokens):
        table = nn.with_logical_partitioning(nn.initializers.normal(0.1), ("vocab", "embed"))
        embed = nn.Embed(self.vocab, self.dim, embedding_init=table)
        x = embed(tokens)
        for i in range(self.layers):
            x = x + MlpBlock(self.dim, self.hidden, name=f"mlp_{i}")(nn.LayerNorm(use_scale=False, use_bias=False)(x))
        return embed.attend(x)


def loss_fn(params, apply_fn, tokens):
    logits = apply_fn({"params": params}, tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, state.apply_fn, tokens)
    return state.apply_gradients(grads=grads), {"loss": loss}


def create_state(key, model, tx, tokens):
    params = model.init(key, tokens)["params"]
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)


def setup(model, tx, tokens, mesh, rules=LOGICAL_AXIS_RULES):
    create = functools.partial(create_state, model=model, tx=tx, tokens=tokens)
    abstract = jax.eval_shape(create, jax.random.key(0))
    specs = nn.get_partition_spec(abstract)
    shardings = nn.logical_to_mesh_sharding(specs, mesh, rules)
    with jax.set_mesh(mesh), nn.logical_axis_rules(rules):
        state = jax.jit(create, out_shardings=shardings)(jax.random.key(0))
    data = NamedSharding(mesh, P("data", None))
    step = jax.jit(train_step, in_shardings=(shardings, data), out_shardings=(shardings, None), donate_argnums=0)
    return state, step, data


def main():
    mesh = Mesh(mesh_utils.create_device_mesh((2, 4)), ("data", "tensor"))
    model, tx = LanguageModel(), optax.sgd(0.5)
    tokens = jax.random.randint(jax.random.key(2), (8, 13), 0, model.vocab)
    state, step, data = setup(model, tx, tokens[:, :-1], mesh)
    tokens = jax.device_put(np.asarray(tokens), data)
    losses = []
    with jax.set_mesh(mesh), nn.logical_axis_rules(LOGICAL_AXIS_RULES):
        for _ in range(2):
            state, metrics = step(state, tokens)
            losses.append(float(metrics["loss"]))
    kernel = nn.unbox(state.params)["mlp_0"]["Dense_0"]["kernel"]
    return losses[1] < losses[0] and kernel.sharding.spec == P(None, "tensor")


agrees = main()
