import flax.linen as nn
import jax
import jax.numpy as jnp

from .config import TrainConfig


class Recurrent(nn.Module):
    cfg: TrainConfig

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(self.cfg.vocab, self.cfg.width, name="embed")(tokens)
        past = jnp.cumsum(x, axis=1) / jnp.arange(1, x.shape[1] + 1)[:, None]
        x = x + nn.Dense(self.cfg.width, name="mix")(jnp.concatenate([x, past], axis=-1))
        return nn.Dense(self.cfg.vocab, use_bias=False, name="head")(nn.tanh(x))


def nll(params, cfg, tokens, weights):
    logits = Recurrent(cfg).apply({"params": params}, tokens[:, :-1])
    logp = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1)[..., 0]
    return -jnp.sum(taken * weights[:, 1:]), jnp.sum(weights[:, 1:])
