"""A small causal language model in nnx; documents are packed and padded, the loss is per real token."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass(frozen=True)
class Config:
    vocab: int = 40
    width: int = 16
    heads: int = 2
    layers: int = 2
    length: int = 10
    batch: int = 32
    lr: float = 0.3
    z_loss: float = 1e-3


class Block(nnx.Module):
    def __init__(self, cfg: Config, *, rngs: nnx.Rngs):
        self.norm1 = nnx.LayerNorm(cfg.width, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(cfg.heads, cfg.width, decode=False, rngs=rngs)
        self.norm2 = nnx.RMSNorm(cfg.width, rngs=rngs)
        self.up = nnx.Linear(cfg.width, 2 * cfg.width, rngs=rngs)
        self.down = nnx.Linear(2 * cfg.width, cfg.width, rngs=rngs)

    def __call__(self, x, mask):
        x = x + self.attn(self.norm1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class LM(nnx.Module):
    def __init__(self, cfg: Config, *, rngs: nnx.Rngs):
        self.embed = nnx.Embed(cfg.vocab, cfg.width, rngs=rngs)
        self.blocks = nnx.List([Block(cfg, rngs=rngs) for _ in range(cfg.layers)])
        self.norm = nnx.LayerNorm(cfg.width, rngs=rngs)

    def __call__(self, tokens):
        mask = nnx.make_causal_mask(tokens)
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.embed.attend(self.norm(x))


def token_losses(logits, targets, z_loss):
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    return ce + z_loss * jax.nn.logsumexp(logits, axis=-1) ** 2


def make_train_step(cfg, graphdef, tx, mesh):
    def step(params, opt_state, batch):
        def loss_fn(params):
            model = nnx.merge(graphdef, params)
            losses = token_losses(model(batch["inputs"]), batch["targets"], cfg.z_loss)
            weights = batch["weights"]
            total = jax.lax.psum(jnp.sum(losses * weights), "data")
            count = jax.lax.psum(jnp.sum(weights), "data")
            return total / count, count

        (loss, count), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return params, opt_state, {"loss": loss, "tokens": count, "grad_norm": optax.global_norm(grads)}

    batch_specs = {"inputs": P("data"), "targets": P("data"), "weights": P("data")}
    mapped = jax.shard_map(step, mesh=mesh, in_specs=(P(), P(), batch_specs), out_specs=(P(), P(), P()))
    return jax.jit(mapped, donate_argnums=(0, 1))


def make_batch(cfg, rng):
    tokens = rng.integers(1, cfg.vocab, size=(cfg.batch, cfg.length + 1))
    lengths = np.sort(rng.integers(1, cfg.length + 1, size=cfg.batch))
    weights = np.arange(cfg.length) < lengths[:, None]
    return {"inputs": tokens[:, :-1], "targets": tokens[:, 1:], "weights": weights.astype(np.float32)}


def main():
    cfg = Config()
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    model = LM(cfg, rngs=nnx.Rngs(0))
    graphdef, params = nnx.split(model, nnx.Param)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(cfg.lr))
    batch = make_batch(cfg, np.random.default_rng(0))

    def whole(params):
        losses = token_losses(nnx.merge(graphdef, params)(batch["inputs"]), batch["targets"], cfg.z_loss)
        return jnp.sum(losses * batch["weights"]) / batch["weights"].sum()

    want, grads = jax.value_and_grad(whole)(params)
    updates, _ = tx.update(grads, tx.init(params), params)
    alone = jax.tree.map(np.asarray, optax.apply_updates(params, updates))

    train_step = make_train_step(cfg, graphdef, tx, mesh)
    sharded = jax.device_put(batch, NamedSharding(mesh, P("data")))
    params, opt_state, metrics = train_step(params, tx.init(params), sharded)
    close = functools.partial(np.allclose, atol=1e-4)
    return (
        close(metrics["loss"], want)
        and close(metrics["grad_norm"], optax.global_norm(grads))
        and all(jax.tree.leaves(jax.tree.map(close, params, alone)))
    )


agrees = main()
