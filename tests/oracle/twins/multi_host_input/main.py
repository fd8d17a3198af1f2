"""Each process reads its own part of the data and the parts become global arrays; gradients accumulate in a scan."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


@dataclasses.dataclass
class DataConfig:
    examples: int = 144
    features: int = 6
    global_batch: int = 48
    accumulate: int = 3
    seed: int = 0


class Loader:
    """Yields global batches of shape (steps, rows, …), rows over the data axes."""

    def __init__(self, cfg, mesh):
        self.cfg = cfg
        self.sharding = NamedSharding(mesh, P(None, ("replica", "fsdp")))
        self.rng = np.random.default_rng(cfg.seed)

    def __iter__(self):
        local = self.cfg.global_batch // jax.process_count()
        for start in range(0, self.cfg.examples, self.cfg.global_batch):
            begin = start + local * jax.process_index()
            yield self.put(self.read(begin, begin + local))

    def read(self, begin, end):
        rows = np.arange(begin, end)
        x = np.sin(rows[:, None] * np.arange(1.0, 1.0 + self.cfg.features)).astype(np.float32)
        return {"x": x, "y": x.sum(axis=1) + rows / 10, "weight": (rows % 5 > 0).astype(np.float32)}

    def put(self, batch):
        steps = self.cfg.accumulate
        cut = {k: v.reshape(steps, -1, *v.shape[1:]) for k, v in batch.items()}
        return {k: jax.make_array_from_process_local_data(self.sharding, v) for k, v in cut.items()}


def weighted(params, batch):
    h = jax.nn.gelu(batch["x"] @ params["w1"])
    errors = jnp.square(h @ params["w2"] - batch["y"]) * batch["weight"]
    return jnp.sum(errors), jnp.sum(batch["weight"])


SPECS = {"w1": P("fsdp", None), "w2": P(None)}


def make_train_step(mesh, tx):
    def step(params, opt_state, batch):
        def micro(carry, part):
            grads, errors, count = carry
            w1 = jax.lax.all_gather(params["w1"], "fsdp", axis=0, tiled=True)
            full = {"w1": w1, "w2": params["w2"]}
            (e, c), g = jax.value_and_grad(weighted, has_aux=True)(full, part)
            return (jax.tree.map(jnp.add, grads, g), errors + e, count + c), None

        zeros = {"w1": jnp.zeros((params["w1"].shape[0] * jax.lax.axis_size("fsdp"), params["w1"].shape[1]))}
        zeros["w2"] = jnp.zeros_like(params["w2"])
        (grads, errors, count), _ = jax.lax.scan(micro, (zeros, 0.0, 0.0), batch)
        errors, count = jax.lax.psum((errors, count), ("replica", "fsdp"))
        w1 = jax.lax.psum_scatter(grads["w1"], "fsdp", scatter_dimension=0, tiled=True)
        w1 = jax.lax.psum(w1, "replica")
        w2 = jax.lax.psum(grads["w2"], ("replica", "fsdp"))
        grads = jax.tree.map(lambda g: g / count, {"w1": w1, "w2": w2})
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, errors / count

    rows = P(None, ("replica", "fsdp"))
    return jax.jit(
        jax.shard_map(
            step, mesh=mesh, in_specs=(SPECS, P(), rows), out_specs=(SPECS, P(), P()), check_vma=False
        )
    )


def main():
    cfg = DataConfig()
    mesh = Mesh(mesh_utils.create_device_mesh((4, 2)), ("replica", "fsdp"))
    loader = Loader(cfg, mesh)
    k1, k2 = jax.random.split(jax.random.key(cfg.seed))
    params = {"w1": jax.random.normal(k1, (cfg.features, 7)), "w2": jax.random.normal(k2, (7,))}
    tx = optax.sgd(0.01)
    plain = jax.tree.map(np.asarray, params)
    params = {k: jax.device_put(v, NamedSharding(mesh, SPECS[k])) for k, v in params.items()}
    train_step = make_train_step(mesh, tx)
    opt_state, history = tx.init(params), collections.deque(maxlen=10)
    want = []
    for i, batch in enumerate(loader):
        whole = loader.read(i * cfg.global_batch, (i + 1) * cfg.global_batch)

        def loss(p):
            errors, count = weighted(p, whole)
            return errors / count

        value, grads = jax.value_and_grad(loss)(plain)
        plain = jax.tree.map(lambda p, g: p - 0.01 * g, plain, grads)
        want.append(float(value))
        params, opt_state, got = train_step(params, opt_state, batch)
        history.append(float(got))
    same = all(np.allclose(params[k], plain[k], atol=1e-4) for k in plain)
    return same and np.allclose(history, want, rtol=1e-4)


agrees = main()
