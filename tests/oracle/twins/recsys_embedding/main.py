"""Two-tower recommender: embedding tables split by rows, logits over all items of the batch."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass(frozen=True)
class Config:
    users: int = 64
    items: int = 40
    dim: int = 12
    batch: int = 16
    table_axis: str = "table"
    batch_axis: str = "batch"
    mesh_shape: tuple[int, int] = (2, 4)

    def make_mesh(self):
        return Mesh(np.array(jax.devices()).reshape(self.mesh_shape), (self.batch_axis, self.table_axis))


def lookup(table, ids, axis):
    """Rows of a table of which each device holds a block."""
    block = table.shape[0]
    local = ids - lax.axis_index(axis) * block
    mine = (local >= 0) & (local < block)
    rows = jnp.where(mine[:, None], table[jnp.clip(local, 0, block - 1)], 0.0)
    return lax.psum(rows, axis)


def towers(params, users, items, cfg):
    u = lookup(params["users"], users, cfg.table_axis)
    i = lookup(params["items"], items, cfg.table_axis)
    return jnp.tanh(u @ params["proj"]), jnp.tanh(i @ params["proj"])


def contrast(u, i, labels):
    logp = jax.nn.log_softmax(u @ i.T)
    return -jnp.take_along_axis(logp, labels[:, None], 1)


def local_loss(params, users, items, *, cfg):
    u, i = towers(params, users, items, cfg)
    every = lax.all_gather(i, cfg.batch_axis, tiled=True)
    labels = lax.axis_index(cfg.batch_axis) * u.shape[0] + jnp.arange(u.shape[0])
    return lax.pmean(contrast(u, every, labels).mean(), cfg.batch_axis)


def dense_loss(params, users, items):
    u = jnp.tanh(params["users"][users] @ params["proj"])
    i = jnp.tanh(params["items"][items] @ params["proj"])
    return contrast(u, i, jnp.arange(len(users))).mean()


class Recommender:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.mesh = cfg.make_mesh()
        table = P(cfg.table_axis)
        self.specs = {"users": table, "items": table, "proj": P()}
        rows = P(cfg.batch_axis)
        self.loss = jax.shard_map(
            partial(local_loss, cfg=cfg), mesh=self.mesh, in_specs=(self.specs, rows, rows), out_specs=P()
        )

    def init(self, seed):
        ku, ki, kp = jax.random.split(jax.random.key(seed), 3)
        cfg = self.cfg
        params = {
            "users": jax.random.normal(ku, (cfg.users, cfg.dim)),
            "items": jax.random.normal(ki, (cfg.items, cfg.dim)),
            "proj": jax.random.normal(kp, (cfg.dim, cfg.dim)) * 0.3,
        }
        shardings = {name: NamedSharding(self.mesh, spec) for name, spec in self.specs.items()}
        return jax.device_put(params, shardings)

    @partial(jax.jit, static_argnames="self")
    def step(self, params, users, items, lr=0.1):
        loss, grads = jax.value_and_grad(self.loss)(params, users, items)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss


def main():
    cfg = Config()
    model = Recommender(cfg)
    params = model.init(0)
    rng = np.random.default_rng(0)
    users = rng.permutation(cfg.users)[: cfg.batch]
    items = rng.permutation(cfg.items)[: cfg.batch]
    want, grads = jax.value_and_grad(dense_loss)(jax.device_get(params), users, items)
    new, loss = model.step(params, users, items)
    moved = jax.tree.map(lambda a, b, g: jnp.allclose(a, b - 0.1 * g, atol=1e-4), new, params, grads)
    return bool(jnp.allclose(loss, want, rtol=1e-4)) and all(map(bool, jax.tree.leaves(moved)))


if __name__ == "__main__":
    agrees = main()
