"""Ahead-of-time compiled train and generate functions, caches donated between calls."""

import dataclasses
import logging
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

log = logging.getLogger(__name__)


@dataclasses.dataclass
class ModelConfig:
    vocab: int = 32
    dim: int = 16
    heads: int = 4
    max_len: int = 12
    batch: int = 8


def init_weights(key, cfg):
    ks = jax.random.split(key, 3)
    return {
        "embed": jax.random.normal(ks[0], (cfg.vocab, cfg.dim)),
        "qkv": jax.random.normal(ks[1], (cfg.dim, 3 * cfg.dim)) * cfg.dim**-0.5,
        "out": jax.random.normal(ks[2], (cfg.dim, cfg.dim)) * cfg.dim**-0.5,
    }


def init_cache(cfg):
    shape = (cfg.batch, cfg.max_len, cfg.heads, cfg.dim // cfg.heads)
    return {"k": jnp.zeros(shape), "v": jnp.zeros(shape), "length": jnp.zeros((), jnp.int32)}


def decode(weights, cache, token):
    x = weights["embed"][token]
    b, d = x.shape
    _, t, h, hd = cache["k"].shape
    q, k, v = jnp.split((x @ weights["qkv"]).reshape(b, 3 * h, hd), 3, axis=1)
    pos = cache["length"]
    keys = cache["k"].at[:, pos].set(k)
    values = cache["v"].at[:, pos].set(v)
    scores = jnp.einsum("bhd,bthd->bht", q, keys) / hd**0.5
    scores = jnp.where(jnp.arange(t) <= pos, scores, -1e9)
    y = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores), values).reshape(b, d)
    logits = (x + y @ weights["out"]) @ weights["embed"].T
    return {"k": keys, "v": values, "length": pos + 1}, jnp.argmax(logits, -1)


class Server:
    def __init__(self, cfg: ModelConfig, seed: int = 0):
        self.cfg = cfg
        self.mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))
        self.weights = jax.device_put(init_weights(jax.random.key(seed), cfg), self.named(P()))
        kv = self.named(P("data", None, "model"))
        self.cache_shardings = {"k": kv, "v": kv, "length": self.named(P())}
        self.cache: Any = jax.device_put(init_cache(cfg), self.cache_shardings)
        tokens = self.named(P("data"))
        jitted = jax.jit(
            decode,
            in_shardings=(self.named(P()), self.cache_shardings, tokens),
            out_shardings=(self.cache_shardings, tokens),
            donate_argnums=(1,),
        )
        token = jax.ShapeDtypeStruct((cfg.batch,), jnp.int32, sharding=tokens)
        self.compiled = jitted.lower(self.weights, self.cache, token).compile()
        self.tokens = tokens
        log.info("compiled %s", self.compiled)

    def named(self, spec):
        return NamedSharding(self.mesh, spec)

    def generate(self, prompt, steps):
        token = jax.device_put(prompt, self.tokens)
        out = []
        for _ in range(steps):
            self.cache, token = self.compiled(self.weights, self.cache, token)
            out.append(np.asarray(token))
        return np.stack(out, 1)


def main():
    cfg = ModelConfig()
    server = Server(cfg)
    prompt = np.arange(cfg.batch, dtype=np.int32) % cfg.vocab
    got = server.generate(prompt, 5)
    weights, cache, token, want = jax.device_get(server.weights), init_cache(cfg), jnp.asarray(prompt), []
    for _ in range(5):
        cache, token = decode(weights, cache, token)
        want.append(token)
    return np.array_equal(got, np.stack(want, 1)) and int(server.cache["length"]) == 5


agrees = main()
