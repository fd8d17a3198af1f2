import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from .config import MeshConfig

RULES = {
    "embed": {"embedding": P("tensor", None)},
    "mix": {"kernel": P(None, "tensor"), "bias": P("tensor")},
    "head": {"kernel": P(None, "tensor")},
}


def make_mesh(cfg: MeshConfig) -> Mesh:
    devices = np.asarray(jax.devices()).reshape(cfg.data, cfg.tensor)
    return Mesh(devices, cfg.names)


def param_shardings(mesh: Mesh):
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), RULES, is_leaf=lambda x: isinstance(x, P))


def batch_sharding(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, P("data", None))
