import jax
import jax.numpy as jnp
from gpt import GPTConfig, Trainer, model


def main():
    cfg = GPTConfig()
    trainer = Trainer(cfg)
    params = trainer.init(jax.random.key(0))
    tokens = jax.random.randint(jax.random.key(1), (cfg.batch, cfg.block_size + 1), 0, cfg.vocab)
    dense = model.init_params(jax.random.key(0), cfg)
    want, grads = jax.value_and_grad(model.loss_fn)(dense, tokens, cfg)
    dense = jax.tree.map(lambda p, g: p - cfg.lr * g, dense, grads)
    params, loss = trainer.step(params, tokens)
    close = jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-4)), params, dense)
    return bool(jnp.allclose(loss, want, rtol=1e-4)) and all(jax.tree.leaves(close))


agrees = main()
