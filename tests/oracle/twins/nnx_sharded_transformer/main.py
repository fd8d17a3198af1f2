import dataclasses

import jax
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass
class Config:
    vocab: int = 40
    dim: int = 16
    heads: int = 4
    hidden: int = 64
    layers: int = 2
    batch: int = 8
    length: int = 10


class MLP(nnx.Module):
    def __init__(self, cfg: Config, rngs: nnx.Rngs):
        init = nnx.initializers.lecun_normal()
        self.up = nnx.Param(init(rngs.params(), (cfg.dim, cfg.hidden)), sharding_names=(None, "model"))
        self.down = nnx.Param(init(rngs.params(), (cfg.hidden, cfg.dim)), sharding_names=("model", None))

    def __call__(self, x):
        h = nnx.gelu(x @ self.up[...])
        h = jax.lax.with_sharding_constraint(h, P("data", None, "model"))
        return h @ self.down[...]


class Block(nnx.Module):
    def __init__(self, cfg: Config, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(cfg.dim, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=cfg.heads, in_features=cfg.dim, decode=False, rngs=rngs)
        self.mlp = MLP(cfg, rngs)

    def __call__(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


class Transformer(nnx.Module):
    def __init__(self, cfg: Config, rngs: nnx.Rngs):
        self.embed = nnx.Embed(cfg.vocab, cfg.dim, rngs=rngs)
        self.blocks = nnx.List([Block(cfg, rngs) for _ in range(cfg.layers)])

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.embed.attend(x)


def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


@nnx.jit
def train_step(model, optimizer, tokens):
    loss, grads = nnx.value_and_grad(loss_fn)(model, tokens)
    optimizer.update(model, grads)
    return loss


def create(cfg, mesh):
    @nnx.jit
    def sharded():
        model = Transformer(cfg, nnx.Rngs(0))
        state = nnx.state(model)
        specs = nnx.get_partition_spec(state)
        nnx.update(model, jax.lax.with_sharding_constraint(state, specs))
        return model

    with jax.set_mesh(mesh):
        model = sharded()
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    return model, optimizer


def main():
    cfg = Config()
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))
    model, optimizer = create(cfg, mesh)
    data = np.random.default_rng(0).integers(0, cfg.vocab, size=(cfg.batch, cfg.length))
    tokens = jax.device_put(data, NamedSharding(mesh, P("data")))
    with jax.set_mesh(mesh):
        losses = [float(train_step(model, optimizer, tokens)) for _ in range(3)]
    return losses[-1] < losses[0] and model.blocks[0].mlp.up[...].sharding.spec == P(None, "model")


if __name__ == "__main__":
    agrees = main()
