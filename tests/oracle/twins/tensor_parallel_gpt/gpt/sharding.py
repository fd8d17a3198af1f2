import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def make_mesh(cfg):
    return Mesh(np.asarray(jax.devices()).reshape(cfg.mesh.shape), cfg.mesh.names)


def param_specs(cfg):
    tp = cfg.mesh.model_axis
    block = {"qkv": P(None, None, tp), "proj": P(tp, None), "up": P(None, tp), "down": P(tp, None)}
    return {"wte": P(), "blocks": [block] * cfg.n_layer}


def place(mesh, tree, specs):
    return jax.tree.map(lambda x, s: jax.device_put(x, NamedSharding(mesh, s)), tree, specs)
