import jax
import numpy as np
from lm.config import TrainConfig
from lm.model import Recurrent, nll
from lm.sharding import batch_sharding, make_mesh, param_shardings
from lm.train import compiled_step


def main():
    cfg = TrainConfig()
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, cfg.vocab, size=(cfg.batch, cfg.length))
    lengths = rng.integers(2, cfg.length + 1, size=(cfg.batch, 1))
    weights = (np.arange(cfg.length) < lengths).astype(np.float32)
    mesh = make_mesh(cfg.mesh)
    params = Recurrent(cfg).init(jax.random.key(0), tokens)["params"]

    def whole(p):
        loss, count = nll(p, cfg, tokens, weights)
        return loss / count

    want, grads = jax.value_and_grad(whole)(params)
    alone = jax.tree.map(lambda p, g: np.asarray(p - cfg.lr * g), params, grads)
    params = jax.device_put(params, param_shardings(mesh))
    batch = jax.device_put((tokens, weights), batch_sharding(mesh))
    step = compiled_step(mesh, cfg)
    params, loss = step(params, *batch)
    close = jax.tree.map(lambda a, b: np.allclose(a, b, atol=1e-4), params, alone)
    return bool(np.allclose(loss, want, rtol=1e-4)) and all(jax.tree.leaves(close))


agrees = main()
