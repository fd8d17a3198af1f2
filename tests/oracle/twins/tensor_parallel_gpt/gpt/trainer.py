import jax
from jax import lax
from jax.sharding import PartitionSpec as P

from gpt import model, sharding


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.mesh = sharding.make_mesh(cfg)
        self.specs = sharding.param_specs(cfg)
        self._step = jax.jit(
            jax.shard_map(
                self._local_step,
                mesh=self.mesh,
                in_specs=(self.specs, P(cfg.mesh.data_axis)),
                out_specs=(self.specs, P()),
            )
        )

    def init(self, key):
        return sharding.place(self.mesh, model.init_params(key, self.cfg), self.specs)

    def _local_loss(self, params, tokens):
        loss = model.loss_fn(params, tokens, self.cfg, self.cfg.mesh.model_axis)
        return lax.pmean(loss, self.cfg.mesh.data_axis)

    def _local_step(self, params, tokens):
        loss, grads = jax.value_and_grad(self._local_loss)(params, tokens)
        params = jax.tree.map(lambda p, g: p - self.cfg.lr * g, params, grads)
        return params, loss

    def step(self, params, tokens):
        return self._step(params, tokens)
