"""Uses of a model's hidden layer: one that mixes rows of the batch is refused, any other gives the same results.

Each line is a body of the models, with X for the hidden layer; all the steps are in one file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from depth import some
from steps_converted import converted_steps, runs_alike

pytestmark = pytest.mark.slow

MIXES = """
X * jax.nn.softmax(X, axis=0)
X * jax.nn.softmax(X, axis=-2)
X - X.mean(axis=-2)
X - jnp.max(X, axis=-2)
jnp.flip(X, axis=-2) + X
X + jnp.linalg.svd(X, full_matrices=False)[0]
X + jnp.outer(X[:, 0], X[:, 1]).sum(axis=1, keepdims=True)
X * jnp.vdot(X, X) / 100.0
X + jnp.tensordot(X, X, axes=((0,), (0,))).sum()
X - jnp.matmul(jnp.ones((16, 16)), X) / 16.0
(jnp.ones((1, 16)) @ X) / 16.0 + X
jax.lax.rev(X, (0,)) + X
jnp.apply_along_axis(lambda r: r - r.mean(), 0, X)
X - jax.lax.reduce_max(X, (0,))
X - jax.lax.slice_in_dim(X, 0, 1)
X.at[0].set(0.0)
X[jnp.argsort(X[:, 0])]
X - list(X)[0]
X - next(iter(X))
X - sum(X) / 16.0
X - sum(list(X)) / 16.0
X - max(X[:, 0])
X - X.copy()[0]
X - jax.lax.stop_gradient(X)[0]
X - (X, X)[0][0]
X - dict(a=X)["a"][0]
X / X.shape[0]
X * (1.0 + jnp.arange(X.shape[0]))[:, None]
X if X.shape[0] > 4 else 2 * X
X + jax.random.permutation(jax.random.PRNGKey(0), X)
jax.vmap(lambda r: r - r.mean(), in_axes=1, out_axes=1)(X)
jax.lax.cond(X.mean() > 0, lambda h: h, lambda h: 2 * h, X)
(lambda h, k=X: h - k.mean(axis=0))(X)
X * X.shape[-2]
X.reshape(-1, X.shape[0]).reshape(X.shape)
jax.nn.softmax(X @ X.T) @ X
jnp.matmul(jnp.matmul(X, X.T), X) / 16.0
X; y = X.reshape(2, -1, 8); X = (y @ y.transpose(0, 2, 1) @ y).reshape(X.shape)
X; y = X.reshape(X.shape[0], 2, 4)[:, 0]; X = X - y.mean(axis=-2).sum()
X; q = X.reshape(X.shape[0], 2, 4); a = jnp.einsum("...qhd,...khd->...hqk", q, q); X = X + a.mean(axis=-1)[0][:, None]
X; mean = X.mean; X = X - mean(axis=0)
X; y = X[:, None]; X = X - (y - X).mean(axis=1)
X; weights = jnp.arange(16.0); X = X * weights[: X.shape[0], None]
X; weights = jnp.arange(16.0); X = X * weights[jnp.arange(X.shape[0])][:, None]
""".strip().splitlines()

KEEPS = """
X * jax.nn.softmax(X, axis=1)
X - X.mean(axis=-1, keepdims=True)
jnp.concatenate([X[:, 4:], X[:, :4]], axis=-1)
jax.vmap(lambda r: r - r.mean())(X)
X.reshape(X.shape[0], 2, 4).sum(axis=1).repeat(2, axis=1)
jnp.tensordot(X, jnp.ones((8, 8)), axes=1)
jnp.tensordot(X, jnp.ones((8, 8)), axes=((1,), (0,)))
X.at[:, 0].set(0.0)
dict(a=X)["a"] * 2
(X, X)[0] * 2
(lambda h, k=2: h * k)(X)
X if X.shape[1] > 4 else 2 * X
X; y = X[:, None]; X = (y * 2)[:, 0]
X; n, d = X.shape; X = X.reshape(n, 2, d // 2).sum(axis=1); X = jnp.concatenate([X, X], axis=-1)
X / jnp.sqrt(X.shape[1])
X; y = X.reshape(X.shape[0], 2, 4); X = y.transpose(0, 2, 1).reshape(X.shape[0], 8)
X; q = X.reshape(X.shape[0], 2, 4); a = jax.nn.softmax(q @ q.transpose(0, 2, 1)); X = (a @ q).reshape(X.shape[0], 8)
X; y = X.reshape(X.shape[0], 2, 4).mean(axis=-2); X = X - jnp.concatenate([y, y], axis=-1)
X; weights = jnp.arange(16.0) / 16.0; X = X * weights[: X.shape[1]]
X; q = X.reshape(X.shape[0], 2, 2, 2); a = jnp.einsum("...qhd,...khd->...qk", q, q); X = X + a.sum((1, 2))[:, None]
X; X = jnp.einsum("bd,bd->b", X, X)[:, None] + X
""".strip().splitlines()

LINEN = """

class Net{n}(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(8)(x)
        x = nn.tanh(x)
        x = {body}
        return nn.Dense(1)(x)[..., 0]


net{n} = Net{n}()


def loss{n}(params, x, y):
    return jnp.mean((net{n}.apply(params, x) - y) ** 2)
"""
PLAIN = """

def loss{n}(params, x, labels):
    h = jnp.tanh(x @ params["w"])
    h = {body}
    return jnp.mean(((h @ params["v"])[..., 0] - labels) ** 2)
"""
STEP = """

@jax.jit
def step{n}(params, x, y):
    loss, grads = jax.value_and_grad(loss{n})(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.001 * g, params, grads), loss
"""
HEAD = """import flax.linen as nn
import jax
import jax.numpy as jnp

x = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
y = jnp.cos(jnp.arange(16.0))
"""


_COMBINATIONS = [
    pytest.param(template, target, id=f"{name}-{target}")
    for name, template, targets in (
        ("linen", LINEN, ("pmap", "shard_map")),
        ("plain", PLAIN, ("shard_map", "pmap")),
    )
    for target in targets
]
COMBINED = some(_COMBINATIONS, 2)
"""Both kinds of models with both targets; each kind and each target occurs in a test that is not deep."""

REDUCED = [
    "X / X.shape[0]",
    "X * jnp.vdot(X, X) / 100.0",
    "jax.lax.cond(X.mean() > 0, lambda h: h, lambda h: 2 * h, X)",
]
"""Bodies that a loss can reduce over the devices because it gets the axis name; a model does not get it."""

NOT_COMPARED = ["X - max(X[:, 0])", "X + jnp.tensordot(X, X, axes=((0,), (0,))).sum()"]
"""A body that JAX cannot trace, and one whose numbers grow until rounding shows."""


def _program(template: str, bodies: list[str]) -> str:
    """Returns a file with a step for each body, and a call of each step."""
    name = "x" if template is LINEN else "h"
    text = HEAD
    for n, body in enumerate(bodies):
        text += template.format(n=n, body=body.replace("X", name)) + STEP.format(n=n)
    text += "\n"
    for n in range(len(bodies)):
        made = f"net{n}.init(jax.random.key({n}), x)"
        if template is PLAIN:
            made = '{"w": jnp.sin(jnp.arange(32.0)).reshape(4, 8), "v": jnp.cos(jnp.arange(8.0)).reshape(8, 1)}'
        text += f"params{n} = {made}\nfor _ in range(2):\n    params{n}, found{n} = step{n}(params{n}, x, y)\n"
    return text


@pytest.mark.parametrize("target", ["shard_map", "pmap"])
def test_a_model_that_has_rows_meet_is_refused(tmp_path: Path, target: str) -> None:
    text = _program(LINEN, MIXES)
    after, refused = converted_steps(tmp_path, text, len(MIXES), target)
    assert [body for n, body in enumerate(MIXES) if n not in refused] == []
    assert after == text


@pytest.mark.jax
@pytest.mark.parametrize("target", some(["shard_map", "pmap"], 1))
def test_a_function_that_has_rows_meet_is_refused_or_gathers_them(tmp_path: Path, target: str) -> None:
    mixes = [one for one in MIXES if one not in REDUCED]
    _, refused = converted_steps(tmp_path, _program(PLAIN, mixes), len(mixes), target)
    assert 0 < len(refused) < len(mixes)
    gathered = [one for n, one in enumerate(mixes) if n not in refused and one not in NOT_COMPARED]
    before = _program(PLAIN, gathered)
    after, refused = converted_steps(tmp_path, before, len(gathered), target)
    assert refused == []
    runs_alike(tmp_path, before, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", some(["shard_map", "pmap"], 1))
def test_a_loss_reduces_means_and_numbers_of_rows_where_they_are_taken(tmp_path: Path, target: str) -> None:
    before = _program(PLAIN, REDUCED)
    after, refused = converted_steps(tmp_path, before, len(REDUCED), target)
    assert refused == []
    runs_alike(tmp_path, before, after)


@pytest.mark.parametrize(("template", "target"), COMBINED)
def test_what_keeps_rows_apart_is_converted(tmp_path: Path, template: str, target: str) -> None:
    _, refused = converted_steps(tmp_path, _program(template, KEEPS), len(KEEPS), target)
    assert [KEEPS[n] for n in refused] == []


@pytest.mark.jax
@pytest.mark.parametrize(("template", "target"), some(_COMBINATIONS, 1))
def test_what_is_converted_comes_to_the_same_numbers(tmp_path: Path, template: str, target: str) -> None:
    before = _program(template, KEEPS)
    after, _ = converted_steps(tmp_path, before, len(KEEPS), target)
    assert after != before
    runs_alike(tmp_path, before, after)
