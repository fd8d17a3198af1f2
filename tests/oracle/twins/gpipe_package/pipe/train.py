import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from pipe import schedule


class PipelineTrainer:
    def __init__(self, settings):
        self.settings = settings
        s = settings
        self.mesh = Mesh(
            __import__("numpy").array(jax.devices()).reshape(s.stages, s.replicas), (s.stage_axis, s.replica_axis)
        )
        self.weight_spec = P(s.stage_axis)
        self.data_spec = P(None, s.replica_axis)

    def init(self, key):
        s = self.settings
        shape = (s.stages, s.layers_per_stage, s.width, s.width)
        return jax.random.normal(key, shape) / s.width

    def loss(self, weights, x, y):
        out = schedule.run_pipeline(weights, x, self.settings)
        return lax.pmean(jnp.mean((out - y) ** 2), self.settings.replica_axis)

    def grad_fn(self):
        mapped = jax.shard_map(
            self.loss,
            mesh=self.mesh,
            in_specs=(self.weight_spec, self.data_spec, self.data_spec),
            out_specs=P(),
        )
        return jax.jit(jax.value_and_grad(mapped))

    def reference(self, weights, x, y):
        return jnp.mean((schedule.sequential(weights, x) - y) ** 2)
