import dataclasses
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import common_utils, train_state

PAD = 0


@dataclasses.dataclass
class Args:
    vocab_size: int = 32
    hidden: int = 16
    seq_len: int = 12
    per_device_batch: int = 2
    learning_rate: float = 0.1
    seed: int = 3


class TinyBert(nn.Module):
    args: Args

    @nn.compact
    def __call__(self, ids, mask, deterministic=True):
        x = nn.Embed(self.args.vocab_size, self.args.hidden)(ids)
        attn_mask = nn.make_attention_mask(mask, mask)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x), mask=attn_mask)
        x = x + nn.Dense(self.args.hidden)(nn.gelu(nn.Dense(2 * self.args.hidden)(x)))
        x = nn.Dropout(0.1)(x, deterministic=deterministic)
        return nn.Dense(self.args.vocab_size)(x)


def token_loss(logits, labels, weights):
    onehot = common_utils.onehot(labels, logits.shape[-1])
    loss = optax.softmax_cross_entropy(logits, onehot) * weights
    return loss.sum(), weights.sum()


def train_step(state, batch, dropout_rng):
    dropout_rng, new_dropout_rng = jax.random.split(dropout_rng)

    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["ids"], batch["mask"])
        loss, count = token_loss(logits, batch["labels"], batch["weights"])
        return loss, count

    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, num_labels), grad = grad_fn(state.params)
    num_labels = jax.lax.psum(num_labels, "batch")
    loss = jax.lax.psum(loss, "batch") / num_labels
    grad = jax.tree.map(lambda g: jax.lax.psum(g, "batch") / num_labels, grad)
    state = state.apply_gradients(grads=grad)
    return state, {"loss": loss, "num_labels": num_labels}, new_dropout_rng


def eval_step(params, batch, apply_fn):
    logits = apply_fn({"params": params}, batch["ids"], batch["mask"])
    hits = (jnp.argmax(logits, -1) == batch["labels"]) * batch["weights"]
    metrics = {"accuracy": hits.sum(), "normalizer": batch["weights"].sum()}
    return jax.lax.psum(metrics, axis_name="batch")


def make_batch(args, rng, n):
    size = n * args.per_device_batch
    ids = rng.integers(1, args.vocab_size, size=(size, args.seq_len))
    lengths = rng.integers(3, args.seq_len, size=(size, 1))
    mask = (np.arange(args.seq_len) < lengths).astype("float32")
    weights = mask * (rng.random((size, args.seq_len)) < np.linspace(0.2, 1.0, size)[:, None])
    return {"ids": np.where(mask > 0, ids, PAD), "labels": ids, "mask": mask, "weights": weights.astype("float32")}


def main():
    args = Args()
    n = jax.device_count()
    batch = make_batch(args, np.random.default_rng(args.seed), n)
    model = TinyBert(args)
    rng, init_rng = jax.random.split(jax.random.key(args.seed))
    params = model.init(init_rng, batch["ids"], batch["mask"])["params"]
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(args.learning_rate))

    def whole(params):
        total, count = token_loss(
            model.apply({"params": params}, batch["ids"], batch["mask"]), batch["labels"], batch["weights"]
        )
        return total / count

    want, grads = jax.value_and_grad(whole)(params)
    alone = state.apply_gradients(grads=grads)

    p_train_step = jax.pmap(train_step, "batch", donate_argnums=(0,))
    p_eval_step = jax.pmap(functools.partial(eval_step, apply_fn=model.apply), "batch")
    state = jax_utils.replicate(state)
    dropout_rngs = jax.random.split(rng, n)
    state, metrics, dropout_rngs = p_train_step(state, common_utils.shard(batch), dropout_rngs)
    metrics = jax_utils.unreplicate(metrics)
    scores = jax_utils.unreplicate(p_eval_step(state.params, common_utils.shard(batch)))
    params = jax_utils.unreplicate(state).params
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), params, alone.params)
    return (
        np.allclose(metrics["loss"], want, rtol=1e-4)
        and all(jax.tree.leaves(close))
        and scores["normalizer"] == batch["weights"].sum()
    )


agrees = main()
