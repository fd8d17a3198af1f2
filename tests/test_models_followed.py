"""Models whose layers are followed with known arguments: the number of axes, the flags, the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from steps_converted import converted_steps, runs_alike

pytestmark = pytest.mark.slow

TARGETS = ("pmap", "shard_map")
HEAD = """from functools import partial
from typing import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

images = jnp.sin(jnp.arange(16 * 4 * 4 * 2.0)).reshape(16, 4, 4, 2)
words = jnp.sin(jnp.arange(16 * 6 * 8.0)).reshape(16, 6, 8)
rows = jnp.sin(jnp.arange(16 * 8.0)).reshape(16, 8)


def patches(x):
    B, H, W, C = x.shape
    x = x.reshape(B, H // 2, 2, W // 2, 2, C)
    x = x.transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(B, -1, *x.shape[3:])


class Shown(nn.Module):
    @nn.compact
    def __call__(self, x):
        b, t, c = x.shape
        q, k, v = (nn.Dense(8)(x).reshape(*x.shape[:-1], 2, c // 2) for _ in range(3))
        weights = nn.softmax(jnp.einsum("...qhd,...khd->...hqk", q, k))
        return jnp.einsum("...hqk,...khd->...qhd", weights, v).reshape(x.shape)


class Blind(nn.Module):
    @nn.compact
    def __call__(self, x):
        q, k = nn.Dense(8)(x), nn.Dense(8)(x)
        weights = nn.softmax(jnp.einsum("...qd,...kd->...qk", q, k))
        return weights @ x


class Center(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(8)(x - x.mean(axis=0))


class Both(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(8)(x), x - x.mean(axis=0)


class Wide(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x @ self.param("kernel", nn.initializers.normal(1.0), (x.shape[-1], 8))


class Keys(nn.Module):
    @nn.compact
    def __call__(self, keys):
        return nn.Dense(8)(keys)


class Flagged(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(8)(x)
        if train:
            x = x - x.mean(axis=0)
        return x


class Held(nn.Module):
    act: Callable

    @nn.compact
    def __call__(self, x):
        return self.act(nn.Dense(8)(x))
"""
MODEL = """

class Net{n}(nn.Module):
    def setup(self):
        {setup}

    def __call__(self, x):
        {body}


net{n} = Net{n}()


def loss{n}(params, x):
    {loss}


@jax.jit
def step{n}(params, x):
    loss, grads = jax.value_and_grad(loss{n})(params, x)
    return jax.tree.map(lambda p, g: p - 0.001 * g, params, grads), loss
"""
LOSS = "return jnp.mean(net{n}.apply(params, x) ** 2)"
DATA = {"i": "images", "w": "words", "r": "rows", "u": 'jnp.load("rows.npy")'}

TOKEN = 'self.token = self.param("token", nn.initializers.normal(1.0), (1, 1, 8))'
KEEPS = """
w | TOKEN | return jnp.concatenate([self.token.repeat(x.shape[0], axis=0), x], axis=1)
w | TOKEN | t = jnp.tile(self.token, [x.shape[0], 1, 1]); return jnp.concatenate([t, x], axis=1)
w | TOKEN | b, n, c = x.shape; return jnp.concatenate([jnp.broadcast_to(self.token, (b, 1, c)), x], axis=1)
w | self.embed = nn.Dense(8); self.blind = Blind() | b, t, c = x.shape; return self.blind(self.embed(x))
w | self.all = (nn.Dense(8), nn.gelu) | for n, f in enumerate(self.all): x = f(x) + n;; return x
w | self.layers = [nn.Dense(8), nn.gelu] | for layer in self.layers: x = layer(x);; return x
w | self.both = Both() | x, rest = self.both(x); return x
r | self.keys = Keys() | return self.keys(x)
r | self.flagged = Flagged() | return self.flagged(x, train=False)
i | self.out = nn.Dense(8) | return self.out(patches(x))
i | self.conv = nn.Conv(8, kernel_size=(2, 2)) | x = self.conv(x); return x * jnp.arange(x.shape[-1])
w | self.shown = Shown() | return self.shown(x)
w | self.blocks = [Shown() for _ in range(2)] | for block in self.blocks: x = x + block(x);; return x
w | self.a = [Shown()]; self.n = [nn.LayerNorm()] | for a, n in zip(self.a, self.n): x += a(n(x));; return x
r | self.held = Held(nn.gelu) | return self.held(x)
w | self.out = nn.Dense(8) | n = jnp.shape(x)[1]; return self.out(x) * jnp.arange(n)[:, None]
w | self.out = nn.Dense(8) | return self.out(x) / np.prod(x.shape[1:])
w | self.out = nn.Dense(8) | b, t, c = x.shape; return self.out(x) / np.prod(jnp.shape(x)[-2:])
r | self.wide = Wide() | return self.wide(x)
r | self.out = nn.Dense(8) | return self.out(x) / x.shape[-1]
""".strip().splitlines()

MIXES = """
w | TWICE | return jnp.concatenate([self.token.repeat(x.shape[0], axis=0)[::2], x], axis=1)
w | TWICE | t = jnp.tile(self.token, [x.shape[0], 1, 1]); return jnp.concatenate([t[::2], x], axis=1)
w | TOKEN | return jnp.concatenate([self.token.repeat(x.shape[0], axis=1), x.swapaxes(0, 1)], axis=1)
r | self.embed = nn.Dense(8); self.blind = Blind() | return self.blind(self.embed(x))
w | self.center = Center() | return self.center(x)
w | self.layers = [nn.Dense(8), Center()] | for layer in self.layers: x = layer(x);; return x
w | self.layers = [nn.Dense(8), lambda h: h - h.mean(axis=0)] | for layer in self.layers: x = layer(x);; return x
w | self.both = Both() | x, rest = self.both(x); return x + rest
r | self.flagged = Flagged() | return self.flagged(x, train=True)
w | self.shown = Shown() | return self.shown(x.swapaxes(0, 1)).swapaxes(0, 1)
w | self.shown = Shown() | return self.shown(x.reshape(2, -1, 8)).reshape(x.shape)
i | self.out = nn.Dense(8) | return self.out(x.reshape(2, -1, *x.shape[2:])).reshape(x.shape[0], -1)
i | self.out = nn.Dense(8) | return self.out(x.reshape(-1, x.shape[1] * 2, *x.shape[2:])).reshape(-1)
i | self.out = nn.Dense(8) | return self.out(x.reshape(-1, *x.shape[:1])).reshape(-1)
r | self.out = nn.Dense(8) | n = jnp.shape(x)[0]; return self.out(x) * jnp.arange(n)[:, None]
w | self.out = nn.Dense(8) | return self.out(x) / np.prod(x.shape[:-1])
r | self.out = nn.Dense(8) | return self.out(x) / np.prod(x.shape[-2:])
r | self.out = nn.Dense(8) | return self.out(x) / np.prod(x.shape[0:])
u | pass | k = nn.Module.param(self, "k", nn.initializers.ones, (x.shape[-1],)); return x * k / x.shape[-1]
r | self.held = Held(lambda h: h - h.mean(axis=0)) | return self.held(x)
r | self.held = Held(act=partial(jnp.cumsum, axis=0)) | return self.held(x)
r | self.blocks = [Blind() for _ in range(2)] | for block in self.blocks: x = x + block(x);; return x
w | self.blocks = [nn.Dense(8), nn.Dense(8)] | a, b = [block(x) for block in self.blocks]; return a - b[0]
""".strip().splitlines()


def _program(lines: list[str]) -> str:
    """Returns a file with a step for each model, and a call of each step."""
    text, calls = HEAD, ""
    for n, line in enumerate(lines):
        line = line.replace("TOKEN", TOKEN).replace("TWICE", TOKEN.replace("(1, 1, 8)", "(2, 1, 8)"))
        data, setup, body = (part.strip() for part in line.split("|"))
        text += MODEL.format(n=n, setup=_lines(setup), body=_lines(body), loss=LOSS.format(n=n))
        calls += f"x{n} = {DATA[data]}\nparams{n} = net{n}.init(jax.random.key({n}), x{n})\n"
        calls += f"for _ in range(2):\n    params{n}, found{n} = step{n}(params{n}, x{n})\n    print({n}, found{n})\n"
    return f"{text}\n\n{calls}"


def _lines(statements: str) -> str:
    return "\n        ".join(part.strip(" ;") for part in statements.split("; "))


@pytest.mark.parametrize("target", TARGETS)
def test_layers_in_which_rows_meet_are_refused(tmp_path: Path, target: str) -> None:
    text = _program(MIXES)
    after, refused = converted_steps(tmp_path, text, len(MIXES), target)
    assert [line for n, line in enumerate(MIXES) if n not in refused] == []
    assert after == text


@pytest.mark.parametrize("target", TARGETS)
def test_layers_that_keep_rows_apart_are_converted(tmp_path: Path, target: str) -> None:
    _, refused = converted_steps(tmp_path, _program(KEEPS), len(KEEPS), target)
    assert [KEEPS[n] for n in refused] == []


@pytest.mark.jax
@pytest.mark.deep
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_converted_comes_to_the_same_numbers(tmp_path: Path, target: str) -> None:
    before = _program(KEEPS)
    after, _ = converted_steps(tmp_path, before, len(KEEPS), target)
    runs_alike(tmp_path, before, after)
