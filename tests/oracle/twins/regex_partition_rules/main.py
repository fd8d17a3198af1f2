"""Partition rules by regular expression over parameter paths, as in EasyLM and big_vision."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as PS


@dataclasses.dataclass(frozen=True)
class LlamaConfig:
    hidden_size: int = 32
    intermediate_size: int = 64
    num_layers: int = 2
    vocab_size: int = 48
    mesh_dims: str = "2,2,2"
    mesh_names: tuple[str, ...] = ("dp", "fsdp", "mp")

    @staticmethod
    def get_partition_rules():
        return (
            ("wte/embedding", PS("mp", "fsdp")),
            ("attention/(wq|wk|wv)/kernel", PS("fsdp", "mp")),
            ("attention/wo/kernel", PS("mp", "fsdp")),
            ("feed_forward/w1/kernel", PS("fsdp", "mp")),
            ("feed_forward/w2/kernel", PS("mp", "fsdp")),
            ("norm/scale", PS(None)),
            (".*", PS()),
        )


def named_tree_map(f, tree, sep="/"):
    def name(path):
        return sep.join(str(getattr(k, "key", k)) for k in path)

    return jax.tree_util.tree_map_with_path(lambda path, leaf: f(name(path), leaf), tree)


def match_partition_rules(rules, params):
    def get_spec(name, leaf):
        if leaf.ndim == 0 or np.prod(leaf.shape) == 1:
            return PS()
        for rule, spec in rules:
            if re.search(rule, name) is not None:
                return spec
        raise ValueError(f"no rule for {name}")

    return named_tree_map(get_spec, params)


def init_params(key, cfg):
    d, f = cfg.hidden_size, cfg.intermediate_size
    keys = iter(jax.random.split(key, 64))

    def dense(a, b):
        return {"kernel": jax.random.normal(next(keys), (a, b)) * a**-0.5}

    params = {"wte": {"embedding": jax.random.normal(next(keys), (cfg.vocab_size, d)) * 0.1}}
    for i in range(cfg.num_layers):
        params[f"h_{i}"] = {
            "attention": {n: dense(d, d) for n in ("wq", "wk", "wv", "wo")},
            "feed_forward": {"w1": dense(d, f), "w2": dense(f, d)},
            "norm": {"scale": jnp.ones(d)},
        }
    return params


def forward(params, tokens, cfg):
    x = params["wte"]["embedding"][tokens]
    for i in range(cfg.num_layers):
        p = params[f"h_{i}"]
        h = x * p["norm"]["scale"]
        q, k, v = (h @ p["attention"][n]["kernel"] for n in ("wq", "wk", "wv"))
        x = x + jax.nn.softmax(q @ k.swapaxes(1, 2)) @ v @ p["attention"]["wo"]["kernel"]
        x = x + jax.nn.silu(x @ p["feed_forward"]["w1"]["kernel"]) @ p["feed_forward"]["w2"]["kernel"]
    return x @ params["wte"]["embedding"].T


def create_mesh(cfg):
    dims = tuple(int(d) for d in cfg.mesh_dims.split(","))
    return Mesh(np.array(jax.devices()).reshape(dims), cfg.mesh_names)


def main():
    cfg = LlamaConfig()
    mesh = create_mesh(cfg)
    params = init_params(jax.random.key(0), cfg)
    tokens = jax.random.randint(jax.random.key(1), (8, 6), 0, cfg.vocab_size)
    want = forward(params, tokens, cfg)
    specs = match_partition_rules(LlamaConfig.get_partition_rules(), params)
    shardings = jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda s: isinstance(s, PS))
    params = jax.tree.map(jax.device_put, params, shardings)
    batch = NamedSharding(mesh, PS(("dp", "fsdp")))

    @jax.jit
    def predict(params, tokens):
        tokens = jax.lax.with_sharding_constraint(tokens, batch)
        logits = forward(params, tokens, cfg)
        return jax.lax.with_sharding_constraint(logits, NamedSharding(mesh, PS(("dp", "fsdp"), None, "mp")))

    return bool(jnp.allclose(predict(params, tokens), want, atol=1e-3))


if __name__ == "__main__":
    agrees = main()
