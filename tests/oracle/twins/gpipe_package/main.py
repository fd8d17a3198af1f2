import jax
import jax.numpy as jnp
from pipe.settings import Settings
from pipe.train import PipelineTrainer


def main(argv=None):
    settings = Settings()
    trainer = PipelineTrainer(settings)
    weights = trainer.init(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (settings.microbatches, 4, settings.width))
    y = jnp.roll(x, 1, axis=-1)
    loss, grads = trainer.grad_fn()(weights, x, y)
    want, want_grads = jax.value_and_grad(trainer.reference)(weights, x, y)
    return bool(jnp.allclose(loss, want, rtol=1e-4) & jnp.allclose(grads, want_grads, atol=1e-4))


if __name__ == "__main__":
    agrees = main()
