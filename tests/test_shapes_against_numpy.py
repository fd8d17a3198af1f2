"""Compares the shapes that we say array code has with the shapes that NumPy and JAX give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.values import Seq, Value
from meshlens.project.workspace import open_workspace

GIVEN = """\
import itertools
import math
from collections import namedtuple
import numpy as np
import jax
import jax.numpy as jnp

rng = np.random.default_rng(0)
old = np.random.RandomState(0)
n, d, b = 100, 12, 32
x = rng.normal(size=(n, d)).astype(np.float32)
y = rng.integers(0, 5, n)
z = np.zeros((4, 6, 8))
flags = y > 2
short = np.arange(10)
order = rng.permutation(n)
u = jnp.ones((16, 64))
c = jnp.ones((16, 33), jnp.complex64)
table = {"x": x, "y": y}
"""

KNOWN = """\
jax.lax.top_k(u, 3)[0]
jax.lax.top_k(u, 3)[1]
np.eye(5)[y]
np.indices((3, 4))
np.mgrid[:3, 1:n]
np.mgrid[:n][2:]
jnp.indices((3, 4))[1]
np.isin(y, [1, 2])
jnp.isin(u, jnp.ones(3))
jax.nn.log_sigmoid(u)
jax.nn.dot_product_attention(jnp.ones((2, 8, 4, 16)), jnp.ones((2, 12, 4, 16)), jnp.ones((2, 12, 4, 16)))
jax.lax.dynamic_update_index_in_dim(u, jnp.ones(64), 3, 0)
np.eye(5, d)[y]
np.eye(5, 7, 1)
np.identity(5)
np.tri(4)
np.tri(4, 5)
np.diag(short)
np.diag(short, 1)
np.diag(np.zeros((4, 6)), -1)
np.diag(np.zeros((4, 6)), 3)
np.diagonal(np.zeros((4, 6)))
next(iter(table.values()))
len(x)
len(next(iter(table.values())))
rng.normal(size=(n, d))
rng.normal(0.0, 1.0, (n, d))
rng.standard_normal((n, d))
rng.random((n, d))
rng.random(n)
rng.uniform(1, 4, size=(n, 1))
rng.uniform(1, 4)
rng.normal(size=n)
rng.normal()
rng.integers(0, 5, n)
rng.integers(5, size=n)
rng.integers(0, 5, size=(n, 2))
rng.permutation(n)
rng.permutation(x)
rng.choice(n, 32, replace=False)
rng.choice(n, size=(4, 8))
rng.choice(x, 8)
rng.choice(n)
rng.choice(x, 8, axis=1)
rng.binomial(1, 0.5, size=n)
rng.exponential(1.0, n)
rng.exponential(size=(n, 2))
rng.standard_exponential(n)
rng.gamma(2.0, 1.0, (n, 3))
rng.beta(2.0, 1.0, (n, 3))
rng.laplace(size=(n, 3))
rng.lognormal(size=(n, 3))
rng.poisson(3.0, (n, 3))
rng.dirichlet(np.ones(4), n)
rng.multivariate_normal(np.zeros(3), np.eye(3), n)
old.randn(n, d)
old.rand(n, d)
old.normal(size=(n, d))
old.randint(0, 5, n)
old.randint(0, 5, size=(n, 4))
old.permutation(n)
old.random_sample((n, 3))
np.random.randn(n, d)
np.random.rand(3)
np.random.normal(size=(n, d))
np.random.permutation(n)
np.random.choice(n, 7)
np.random.randint(0, 9, (n, 4))
np.random.standard_normal((n, 2))
np.random.random((n, 2))
np.random.random_sample((n, 2))
x[0:b]
x[96:96 + b]
x[-b:]
x[:, 0]
x[:, None]
x[..., 0]
x[:, :, None]
x[::2]
x[order[0:b]]
x[order[96:96 + b]]
x[order]
y[order]
x[y]
x[short]
x[short, 0]
x[short, short]
x[short[:, None], short]
x[[0, 1, 2]]
x[[0, 1, 2], :]
x[:, [0, 3]]
z[short[:3], :, 0]
z[:, short[:3]]
z[:, short[:3], None]
z[short[:3], 1:3]
np.argsort(y)[:b]
x[np.argsort(y)]
x[y.argsort()[:7]]
x[rng.permutation(n)[:b]]
x[rng.choice(n, b)]
x[np.arange(n)]
x[np.r_[0:3]] if False else x
x.reshape(-1, 4)
x.reshape(-1, 3, 4)
x.reshape((n * d,))
x.reshape(n, -1)
x.T
x.T @ x
x @ x.T
x.mean(0)
x.mean(axis=0, keepdims=True)
(x - x.mean(0)) / x.std(0)
(x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)
x * 2.0 * np.pi
2 * np.pi * x
np.sin(2 * np.pi * x + 1)
np.sin(2 * math.pi * x)
np.pi * np.arange(n) / n
1j * x
-1j * x
np.exp(-1j * x)
x > 0
-x
x ** 2
np.linspace(0, 1, 32)
np.linspace(0, 1, num=32)
np.linspace(0, 1)
np.linspace(0, 1, 32, endpoint=False)
np.logspace(0, 1, 32)
np.arange(10)
np.arange(3, 10)
np.arange(3, 10, 2)
np.arange(len(x))
np.arange(0, len(x))
np.arange(10.0)
np.arange(n)[:, None]
np.arange(n)[None]
np.full((n, 3), 7)
np.full(n, 7)
np.zeros(n)
np.zeros(shape=(n, 2))
np.zeros((n,), dtype=np.int32)
np.ones_like(x)
np.ones(len(y), np.float32)
np.empty((n, 2))
np.zeros_like(x, dtype=int)
np.full_like(x, 3)
np.stack([x, x])
np.stack([x, x], axis=1)
np.stack([x[:, 0], x[:, 1], x[:, 2]], axis=-1)
np.concatenate([x, x])
np.concatenate([x, x], axis=1)
np.concatenate((x, np.zeros((n, 4))), 1)
np.concatenate([np.zeros((i + 1, 3)) for i in range(4)])
np.vstack([x, x])
np.vstack([short, short])
np.hstack([x, x])
np.hstack([short, short])
np.dstack([x, x])
np.column_stack([y, y])
np.column_stack([x, y])
np.append(x, x)
np.append(x, x, axis=0)
np.append(y, 3)
np.append(x, x[:2], 0)
np.tile(x, (2, 1))
np.tile(short, 3)
np.repeat(x, 2, axis=0)
np.repeat(x, 2)
np.repeat(short, 3)
np.repeat(5, 3)
np.pad(x, ((0, 4), (0, 0)))
np.pad(x, ((0, -len(x) % 8), (0, 0)))
np.pad(short, (0, 6))
np.pad(short, 2)
np.pad(short, (0, -len(short) % 8), mode="edge")
np.expand_dims(x, 0)
np.squeeze(x[None])
x[None].squeeze(0)
np.transpose(z, (2, 0, 1))
z.transpose(2, 0, 1)
z.transpose((2, 0, 1))
z.transpose()
z.swapaxes(0, 1)
np.swapaxes(z, 0, 2)
np.moveaxis(z, 0, -1)
np.moveaxis(z, [0, 1], [-1, -2])
np.ravel(z)
z.ravel()
z.flatten()
z.sum()
z.sum(axis=(0, 1))
z.max(-1)
np.argmax(z, axis=-1)
z.argmax(-1)
np.cumsum(x, axis=0)
np.cumsum(x)
x.cumsum(0)
np.diff(x, axis=0)
np.diff(short)
np.diff(short, n=2)
np.diff(x, prepend=0)
np.where(flags[:, None], x, 0.0)
np.where(y > 2, 1.0, 0.0)
np.clip(x, -1, 1)
x.clip(-1, 1)
np.take(x, short, axis=0)
np.take(x, short)
x.take(short, axis=0)
np.take_along_axis(x, np.argmax(x, 1)[:, None], 1)
np.outer(short, y)
np.dot(x, x.T)
np.einsum("nd,kd->nk", x, x)
np.array([1, 2, 3])
np.array([[1, 2], [3, 4], [5, 6]])
np.array([x, x])
np.array(x)
np.asarray(x, dtype=np.float32)
np.ascontiguousarray(x)
np.float32(x)
np.int32(y)
np.array_split(x, 4)[0]
np.array_split(x, 3)[0]
np.array_split(x, 3)[1]
np.array_split(x, 8)[-1]
np.array_split(x, 8)[0]
np.split(x, 4)[1]
np.split(x, [30])[0]
np.split(x, [30, 50])[1]
np.split(x, [30])[1]
np.split(x, 3, axis=1)[0]
np.meshgrid(short, np.arange(3))[0]
np.meshgrid(short, np.arange(3), indexing="ij")[0]
np.meshgrid(short, np.arange(3), indexing="ij")[1]
np.stack(np.meshgrid(short, np.arange(3), indexing="ij"), -1)
np.broadcast_to(short, (4, 10))
np.broadcast_to(y[:, None], x.shape)
np.roll(x, 3, axis=0)
np.flip(x, 0)
np.sort(y)
np.argsort(y)
np.searchsorted(short, y)
np.digitize(x[:, 0], short)
np.interp(x[:, 0], short, short)
np.convolve(short, np.ones(3))
np.convolve(short, np.ones(3), mode="same")
np.convolve(short, np.ones(3), "valid")
np.kron(np.eye(2), np.ones((3, 4)))
np.vander(short, 3)
np.random.default_rng(0).normal(size=(n, d))
np.random.default_rng(0).normal(size=x.shape)
rng.normal(size=x.shape)
rng.normal(size=(len(x), 3))
rng.normal(size=(x.shape[0], d // 4))
0.05 * rng.normal(size=(n, d))
x + 0.05 * rng.normal(size=(n, d))
x.astype("float32")
x.copy()
x.round(2)
x.dot(x.T)
x.var(axis=1)
x.repeat(2, axis=0)
np.linalg.norm(x, axis=1)
np.linalg.norm(x, axis=-1, keepdims=True)
np.linalg.norm(x)
np.linalg.inv(np.eye(4))
np.linalg.cholesky(np.eye(4))
np.maximum(x, 0)
np.power(x, 2)
np.sqrt(x)
np.tanh(x)
np.isnan(x)
np.round(x, 2)
np.deg2rad(x)
np.nan_to_num(x)
np.heaviside(x, 0.5)
np.logaddexp(x, x)
np.median(x, axis=0)
np.average(x, axis=0)
np.atleast_2d(short)
np.atleast_1d(short)
np.atleast_2d(x)
np.lib.stride_tricks.sliding_window_view(short, 4)
np.fft.fft(x)
np.fft.rfft(x, axis=1)
np.fft.rfft(x)
np.fft.rfft(x, axis=0)
np.fft.rfft(x, 64, axis=0)
np.fft.rfft(x, n=64, axis=0)
np.fft.rfft(x, n=65, axis=0, norm="ortho")
np.fft.irfft(c.real, axis=1)
np.fft.fftfreq(n)
np.fft.fftfreq(n, 1 / n)
np.fft.rfftfreq(n)
np.fft.rfftfreq(n, d=1.0 / n)
np.fft.fftfreq(64)[:, None] ** 2 + np.fft.rfftfreq(64)[None, :] ** 2
jnp.fft.fft(u)
jnp.fft.fft(u, axis=0)
jnp.fft.fft(u, 128)
jnp.fft.fft(u, n=128, axis=0)
jnp.fft.ifft(u, n=10)
jnp.fft.rfft(u)
jnp.fft.rfft(u, axis=0)
jnp.fft.rfft(u, axis=-2)
jnp.fft.rfft(u, n=62)
jnp.fft.rfft(u, n=63)
jnp.fft.rfft(u, 62, 0)
jnp.fft.rfft(u, None, 1, "ortho")
jnp.fft.irfft(c)
jnp.fft.irfft(c, axis=0)
jnp.fft.irfft(c, n=64)
jnp.fft.irfft(c, n=63, axis=1)
jnp.fft.irfft(c, n=None)
jnp.fft.hfft(c)
jnp.fft.ihfft(u)
jnp.fft.fft2(u)
jnp.fft.ifft2(u)
jnp.fft.fft2(u, s=(8, 8))
jnp.fft.fft2(u, (8, 20), (1, 0))
jnp.fft.fft2(u, (8, 20), axes=(0, 1))
jnp.fft.fftn(u)
jnp.fft.fftn(jnp.ones((3, 4, 5)), axes=(1, 2))
jnp.fft.fftn(jnp.ones((3, 4, 5)), s=(8, 9))
jnp.fft.rfft2(u)
jnp.fft.rfft2(u, axes=(1, 0))
jnp.fft.rfft2(u, s=(8, 20))
jnp.fft.rfft2(jnp.ones((3, 16, 64)))
jnp.fft.rfftn(u)
jnp.fft.rfftn(jnp.ones((3, 4, 6)))
jnp.fft.rfftn(jnp.ones((3, 4, 6)), axes=(1,))
jnp.fft.irfft2(c)
jnp.fft.irfft2(c, s=(16, 64))
jnp.fft.irfftn(c)
jnp.fft.irfftn(c, s=(16, 64))
jnp.fft.irfftn(c, axes=(1, 0))
jnp.fft.fftshift(u)
jnp.fft.fftshift(u, axes=0)
jnp.fft.ifftshift(u)
jnp.fft.fftfreq(64)
jnp.fft.rfftfreq(64)
jnp.fft.rfftfreq(64, d=1.0 / 64)
jnp.fft.irfft(jnp.fft.rfft(u))
jnp.fft.rfft(u)[:, :32]
jnp.fft.rfft(u).shape[1]
jnp.pad(jnp.fft.rfft(u), ((0, 0), (0, 7)))
jnp.abs(jnp.fft.rfft(u)) ** 2
jnp.real(jnp.fft.ifft2(c))
jnp.fft.ifft2(c).real
jnp.fft.fft(u).imag
jnp.conj(c) * c
-1j * jnp.ones((4, 1)) * c[:4]
jnp.linspace(0, 1, 33)
jnp.eye(8)[jnp.arange(3)]
jnp.pi * u
jnp.stack([u, u])
jnp.vstack([u, u])
jnp.hstack([u, u])
jnp.arange(16) * 2
jnp.concatenate([u, jnp.zeros((16, 1))], axis=1)
jnp.append(u, u, axis=0)
jnp.array_split(u, 3)[0]
jnp.where(u > 0, u, 0.0)
jnp.diff(u)
jnp.diff(u, axis=0)
jnp.interp(u[0], jnp.arange(4.0), jnp.arange(4.0))
jnp.take(u, jnp.arange(3), axis=1)
jnp.searchsorted(jnp.arange(4), u[0])
jax.nn.one_hot(y, 5)
jax.random.normal(jax.random.key(0), (n, 3))
jax.random.permutation(jax.random.key(0), n)
jax.random.permutation(jax.random.key(0), u)
jax.random.choice(jax.random.key(0), n, (7,))
jax.random.randint(jax.random.key(0), (n,), 0, 5)
jax.random.categorical(jax.random.key(0), u)
jax.lax.dynamic_slice_in_dim(u, 3, 5)
jax.lax.dynamic_slice_in_dim(u, 3, 5, axis=1)
jax.lax.dynamic_slice_in_dim(u, 0, slice_size=5, axis=-1)
jax.lax.dynamic_slice(u, (0, 0), (4, 5))
jax.lax.dynamic_update_slice(u, u[:2], (0, 0))
jax.lax.slice(u, (0, 0), (4, 5))
jax.lax.slice_in_dim(u, 1, 9)
jax.lax.slice_in_dim(u, 1, 9, axis=1)
jax.lax.dynamic_index_in_dim(u, 3, 0)
jax.lax.dynamic_index_in_dim(u, 3, 0, keepdims=False)
jax.lax.concatenate([u, u], 0)
jax.lax.rev(u, (0,))
jax.lax.iota(jnp.int32, 7)
jax.lax.broadcasted_iota(jnp.int32, (4, 5), 0)
jax.lax.pad(u, 0.0, ((0, 7, 0), (1, 1, 0)))
jax.lax.pad(u, 0.0, ((0, 7, 1), (-1, 1, 0)))
"""
"""Expressions whose shapes we know in full."""

UNKNOWN = """\
np.arange(10, step=2)
np.arange(0)
np.arange(-3)
np.linspace(*(0, 1), 5)
np.meshgrid(short, short[:4], np.arange(3), indexing="ij")[2]
np.meshgrid(short, short[:4], np.arange(3))[2]
np.where(True, x, 0)
rng.integers(0, 2, n, bool)
x[rng.integers(0, 2, n, bool)]
x[rng.permutation(flags.copy())]
x[np.random.permutation(flags)]
x[np.random.choice(flags, n)]
x[np.asarray([True] * n)]
x[np.array([True] * 50 + [False] * 50)]
x[order.reshape(-1)]
x[order.reshape(10, 10)]
x[order.copy()]
x[order[order]]
x[order > 3]
x[order == 3]
x[-order]
x[order % 7]
x[np.sort(order)]
x[np.concatenate([order[:50], order[50:]])]
x[order][flags]
x[order, None]
z[order % 4, order % 6]
z[order % 4, :, order % 8]
z[order % 4, order % 6, None, 2]
x[y.argsort()]
x[np.argsort(-y)]
x[flags.argsort()]
x[np.arange(n).reshape(-1)]
x[np.arange(n, dtype=np.int32)]
x[np.arange(n).tolist()]
next(iter([x, y]))
next(iter((y, x)))
next(iter({"a": z, "b": x}.values()))
next(iter(table)) == "x"
2j * np.pi * x
1.5e3j + x
(1j * x).real
np.exp(1j * x).imag
np.zeros(3) * -1j
np.unravel_index(short, (4, 8))[0]
np.quantile(x, 0.5, axis=0)
np.percentile(x, 50, axis=0)
np.cov(x, rowvar=False)
np.cov(x)
np.linalg.qr(np.ones((6, 4)))[0]
np.linalg.solve(np.eye(4), np.ones((4, 2)))
np.triu_indices(4)[0]
np.bincount(y, minlength=5)[:2]
np.vsplit(x, 4)[0]
np.array([x[i].sum() for i in range(8)])
np.rollaxis(z, 2)
np.stack([np.roll(x, s, axis=0) for s in range(6)], axis=1)
np.stack([x[i] for i in range(8)])
x[flags]
x[y > 2]
y[y == 1]
x[flags, 0]
x[:, flags[:12]]
x[np.isfinite(y)]
x[~flags]
x[(y > 1) & (y < 3)]
x[np.where(flags)[0]]
x[np.where(flags)]
x[np.nonzero(flags)[0]]
x[np.flatnonzero(flags)]
x[np.ones(n, bool)]
x[np.zeros(n, dtype=bool)]
x[np.array([True, False] * 50)]
x[np.full(n, False)]
x[np.repeat([True, False], 50)]
x[rng.random(n) < 0.5]
x[np.concatenate([flags[:50], flags[50:]])]
x[np.isin(y, [1, 2])]
x[np.logical_and(flags, flags)]
x[flags.astype(bool)]
x[flags[order]]
x[np.sort(flags)]
x[rng.permutation(flags)]
x[rng.choice(flags, n)]
x[rng.choice([True, False], n)]
x[rng.choice(np.array([True, False]), n)]
x[np.tile(flags, 1)]
x[np.asarray(flags)]
x[np.array(flags)]
x[flags.copy()]
x[np.roll(flags, 3)]
x[flags.reshape(-1)]
x[np.where(flags, True, False)]
x[np.zeros_like(flags)]
x[np.ones_like(y, dtype=bool)]
x[[True, False] * 50]
x[[True] * 99 + [False]]
x[np.eye(100, dtype=bool)[3]]
x[np.arange(n) < 50]
x[np.arange(n) % 3 == 0]
x[np.arange(n).astype(bool)]
x[order.astype(bool)]
x[rng.integers(0, 2, n).astype(bool)]
x[rng.integers(0, 2, n, dtype=bool)]
x[np.arange(n, dtype=int).view()]
x[None, flags]
z[np.ones((4, 6), bool)]
z[:, np.ones((6, 8), bool)]
z[np.arange(4), 0, :]
z[np.arange(4), :, np.arange(4)]
z[0, :, np.arange(4)]
z[np.arange(4), ..., 0]
z[0, np.arange(3), None]
z[:, 0, np.arange(4)]
z[True]
x[False]
np.unique(y)
np.unique(x, axis=0)
np.argwhere(flags)
np.nonzero(flags)[0]
np.flatnonzero(flags)
np.extract(flags, y)
np.compress(flags, x, axis=0)
x.compress(flags, axis=0)
np.delete(x, 0, axis=0)
np.delete(x, [0, 1], axis=0)
np.insert(x, 0, 0.0, axis=0)
np.setdiff1d(y, [1])
np.union1d(y, y)
np.intersect1d(y, short)
np.trim_zeros(short)
np.resize(x, (3, 4))
np.histogram(x)[0]
np.histogram(x, bins=20)[1]
np.trim_zeros(y)
np.bincount(y)
np.arange(0, 1, 0.1)
np.arange(0.0, 9.5)
np.arange(2.5)
np.arange(9, 3)
np.arange(10, dtype=np.float32)
np.arange(start=3, stop=10)
np.arange(stop=10, start=0)
np.atleast_3d(x)
np.percentile(x, [25, 50, 75], axis=0)
np.quantile(x, [0.25, 0.75])
np.median(x)
np.sum(x, 0, keepdims=True)
np.sum(x, axis=None)
x.sum(None)
x.sum(0, keepdims=True)
np.stack([x[i] for i in range(n)])
np.stack([x[i] for i in range(n) if i % 2])
np.concatenate([x[i:i + b] for i in range(0, n, b)])
np.concatenate([x[i:i + 10] for i in range(0, n, 10)])
np.stack([x[i:i + 10] for i in range(0, n, 10)])
np.array([x[i:i + 10] for i in range(0, n, 10)])
np.array([i for i in range(0, n, 10)])
np.array(list(range(0, n, 10)))
np.array(range(0, n, 10))
np.array(range(n))
np.asarray(list(range(0, n, 7)))
len(range(0, n, 7))
len(list(range(0, n, 7)))
len([i for i in range(0, n, 7)])
sum(len(x[i:i + b]) for i in range(0, n, b))
sum(1 for i in range(0, n, 7))
x[list(range(0, n, 7))]
x[range(0, n, 7)]
np.concatenate([y, [1, 2, 3]])
np.concatenate([[1, 2], [3]])
np.stack([[1, 2], [3, 4]])
np.vstack([1, 2, 3])
np.hstack([1, 2, 3])
np.hstack([x[:, :1], y[:, None]])
np.vstack([x, x[0]])
np.dstack([short, short])
np.array([1, 2, 3])[:, None] * x[:3]
np.array("abc")
np.array([])
np.array([[]])
np.array([[], []])
np.array([np.arange(3), np.arange(3)])
np.array(((1, 2), (3, 4)))
np.array({"a": 1})
np.array({1, 2, 3})
np.array([["a", "b"], ["c", "d"]])
np.array([1, 2, 3], ndmin=2)
np.array(x, ndmin=3)
np.array(3.0)
np.array([x[0], x[1]])
np.float32(3)
np.linspace(np.zeros(3), np.ones(3), 5)
np.linspace(0, 1, 5, retstep=True)[0]
np.linspace(0, np.ones(3), 5, axis=1)
np.linspace(0, [1, 2, 3], 5)
np.logspace(np.zeros(3), 1, 5)
np.repeat(x, [2] * 100, axis=0)
np.repeat(short, short)
np.repeat([1, 2, 3], 4)
np.repeat([1, 2, 3], [4, 5, 6])
np.tile([1, 2], 3)
np.full((2, 3), [1, 2, 3])
np.full(3, x[:3, 0])
np.expand_dims(x, (0, 1))
np.expand_dims(x, axis=[0, -1])
np.array_split(x, [30, 60])[0]
np.array_split(x, 3, axis=1)[2]
np.array_split(x, 17)[0]
np.array_split(range(n), 3)[0]
np.array_split(np.arange(n), 3)[2]
np.array_split(order, 3)[1]
np.split(x, 2, 1)[0]
np.split(y, [3, 200])[1]
np.split(y, [50, 20])[1]
np.split(y, [-10])[0]
np.split(y, [-10])[1]
np.split(x, np.arange(10, n, 10))[0]
np.fft.fft(np.ones((3, 4)), n=8, axis=0)
np.fft.fftn(z, s=(8, 8), axes=(0, 1))
np.fft.rfftn(z, s=(8, 8), axes=(0, 1))
np.fft.irfftn(z, axes=(0,))
np.fft.irfftn(z, s=(5,), axes=(0,))
np.fft.rfftn(z, s=(5,), axes=(0,))
np.fft.fft2(z)
np.fft.irfft2(z, (9, 9))
np.fft.fftshift(z, (0, 1))
jnp.fft.fftn(u, (4,), (0,))
jnp.fft.irfftn(u, (4,), (0,))
jnp.fft.irfft2(u, (9, 9), (-1, -2))
np.meshgrid(short)[0]
np.meshgrid(x, short)[0]
np.meshgrid(short, short, short)[0]
np.meshgrid(short, np.arange(3), sparse=True)[0]
np.meshgrid(short, np.arange(3), sparse=True, indexing="ij")[1]
np.meshgrid(3, np.arange(3))[0]
np.meshgrid(*(short, np.arange(3)))[1]
np.diag(x[:, :3])
np.diag(np.ones((4, 6)), 10)
np.diag(np.ones((4, 6)), -3)
np.diag(np.ones((4, 6)), k=3)
np.diagonal(z)
np.diagonal(z, 1, 1, 2)
np.diff(short, 20)
np.diff(short, append=3, prepend=[1, 2])
np.diff(x, 2, 0)
np.convolve(np.ones(3), short, "valid")
np.convolve(np.ones(3), short, "same")
np.cov(short)
np.cov(x, x)
np.cov(x, y=x[:50], rowvar=False) if False else y
np.corrcoef(x)
np.corrcoef(x.T)
np.take(x, [0, 1], axis=0)
np.take(x, 3, axis=0)
np.take(x, short[:, None], axis=1)
x.take([0, 1])
rng.permutation(5.0) if False else y
rng.permutation([1, 2, 3])
rng.permutation(x, axis=1)
rng.permuted(x)
rng.choice([1, 2, 3])
rng.choice([1, 2, 3], 4)
rng.choice(z, 3)
rng.choice(z, (3, 2), axis=1)
rng.choice(z)
rng.choice(x, size=None)
rng.normal(np.zeros(4))
rng.normal(x, 1.0)
rng.normal(0.0, np.ones(3))
rng.normal(size=None)
rng.uniform(np.zeros(3), 1.0)
rng.uniform(low=np.zeros(3), high=np.ones(3))
rng.integers(np.array([3, 4]))
rng.integers(5)
rng.integers(low=0, high=5)
rng.binomial(y, 0.5)
rng.binomial(10, 0.5)
rng.exponential(x ** 2)
rng.gamma(np.ones(3))
rng.poisson(x ** 2)
rng.poisson()
rng.dirichlet(np.ones(4))
rng.dirichlet(np.ones(4), (2, 3))
rng.dirichlet([1, 1, 1], 7)
rng.multivariate_normal(np.zeros(3), np.eye(3))
rng.multivariate_normal([0, 0], np.eye(2), 5)
rng.multivariate_normal([0, 0], np.eye(2), (5, 2))
rng.multinomial(5, [0.2, 0.8], size=n)
rng.multinomial(5, [0.2, 0.8])
rng.bytes(3) if False else y
rng.standard_normal()
rng.random()
rng.random(None)
rng.choice(["a", "b"], 4)
np.random.choice(x[:, 0], 3)
np.random.choice([1, 2], size=(3, 4))
np.random.permutation([1, 2, 3])
np.random.permutation(x)
np.random.rand()
np.random.randn()
np.random.normal()
np.random.normal(x)
np.random.uniform(x, 1.0)
np.random.uniform()
np.random.randint(5)
np.random.randint(5, size=3)
np.random.randint(np.array([3, 4]))
np.random.random()
np.random.standard_normal()
np.outer(x, short)
np.kron(short, x)
np.dot(x, x[0])
np.dot(short, short)
np.dot(3, x)
x.dot(x[0])
np.inner(x, x)
np.tensordot(x, x, axes=([1], [1]))
np.where(flags)[0]
np.where(y > 2, x[:, 0], 0.0)
np.where(flags[:, None], x, [0.0] * 12)
np.maximum(x, [0.0] * 12)
x + [1.0] * 12
x * np.array([2.0] * 12)
x[0:b] * x[0]
np.searchsorted(short, 3)
np.searchsorted(short, [3, 4])
np.searchsorted(short, y[:, None])
np.digitize(3, short)
np.interp(3.0, short, short)
np.interp([3.0, 4.0], short, short)
np.append(x, [1, 2])
np.append(3, 4)
np.append([1, 2], [3])
np.append(y, [3, 4])
np.linalg.svd(x)[0]
np.linalg.svd(x, full_matrices=False)[0]
np.linalg.eigh(np.eye(4))[0]
np.linalg.norm(z, axis=(1, 2))
np.linalg.norm(x, ord=1, axis=0)
np.linalg.norm(x, 2, 1)
np.linalg.norm(x, keepdims=True)
np.linalg.solve(np.eye(4), np.ones(4))
np.linalg.solve(np.ones((3, 1, 1)), np.ones((1, 2)))
np.linalg.lstsq(x, y, rcond=None)[0]
np.linalg.pinv(x)
np.linalg.qr(np.ones((4, 6)))[0]
np.linalg.qr(np.ones((6, 4)))[1]
np.linalg.qr(np.ones((6, 4)), mode="complete")[0]
np.linalg.qr(np.ones((6, 4)), "r")
np.linalg.det(np.ones((3, 4, 4)))
np.trace(x)
np.triu_indices(4, 1)[0]
np.tril_indices(5)[1]
np.ptp(x, axis=0)
np.average(x)
np.average(x, weights=x)
np.rollaxis(z, 2, 1)
np.rollaxis(z, 0, 3)
np.rot90(x)
np.squeeze(z[:1], 0)
z[:1].squeeze()
z.squeeze()
x.item(0)
x.tolist()
x.nbytes
x.size
x.ndim
x.shape
x.shape[0]
x.strides
x.view(np.int32)
x.view(np.uint8)
x.astype(np.float64).view(np.float32)
x.flat[3]
x.resize((3, 4)) if False else y
x.max()
x.argmax()
x.sum(axis=-1, keepdims=True)
x.std(0, ddof=1)
x.ravel()[::3]
x.reshape(-1)
x.reshape(10, -1, 12)
x.reshape(4, 25, 12)[1]
x.reshape((10, 10) + x.shape[1:])
x.reshape(*x.shape, 1)
x[:96].reshape(3, b, d)
x[: len(x) // b * b].reshape(-1, b, d)
x[: len(x) // 8 * 8]
x[(len(x) // 8) * 8:]
x[200:]
x[90:130]
x[-130:]
x[5:2]
x[::-1]
x[::-3]
x[10::-3]
x[-1]
x[True]
x[np.int32(3)]
x[np.array(3)]
x[y[0]]
x[y[0], short]
x[np.argmax(y)]
x[y.argmax()]
x[(3,)]
x[(0, 1)]
x[0, 1]
x[0][1]
x[[[0, 1], [2, 3]]]
x[slice(0, 10)]
x[slice(None, 10), 0]
x[Ellipsis, 3]
x[..., None]
x[None, ..., 0]
x[short][:, short]
x[np.ix_(short, short)]
x[short, :3]
x[short, None]
x[None, short]
x[0, short]
x[short, 0, None]
np.random.permutation(n)[:7]
jax.random.permutation(jax.random.key(0), u, axis=1)
jax.random.permutation(jax.random.key(0), u, 1, True)
jax.random.permutation(jax.random.key(0), x=5)
jax.random.choice(jax.random.key(0), u, (7,))
jax.random.choice(jax.random.key(0), n)
jax.random.choice(jax.random.key(0), u, shape=(2, 3), axis=1)
jax.random.categorical(jax.random.key(0), u, axis=0)
jax.random.categorical(jax.random.key(0), u, shape=(5, 16))
jax.random.bernoulli(jax.random.key(0), u)
jax.random.normal(jax.random.key(0))
jax.random.dirichlet(jax.random.key(0), jnp.ones(4), (5,))
jax.random.gamma(jax.random.key(0), jnp.ones(4))
jax.random.gamma(jax.random.key(0), 2.0, (4, 5))
jax.random.poisson(jax.random.key(0), jnp.ones(4))
jax.random.multivariate_normal(jax.random.key(0), jnp.zeros(3), jnp.eye(3), (5,))
jax.lax.dynamic_slice(u, (0, 0), slice_sizes=(4, 5))
jax.lax.slice(u, (0, 0), (4, 9), (1, 2))
jax.lax.slice_in_dim(u, None, 9, 2)
jax.lax.slice_in_dim(u, 1, -1)
jax.lax.slice_in_dim(u, -4, None)
jax.lax.select(u > 0, u, u)
jax.lax.iota(jnp.int32, size=7)
jax.lax.expand_dims(u, (0,))
jax.lax.squeeze(u[None], (0,))
jax.lax.transpose(u, (1, 0))
jax.lax.reshape(u, (64, 16))
jax.lax.argmax(u, 1, jnp.int32)
jax.lax.cumsum(u, 0)
jax.lax.reduce_max(u, (0,))
jax.lax.broadcast(u, (3,))
jax.lax.broadcast_in_dim(jnp.ones(3), (4, 3), (1,))
jax.lax.sort(u)
jax.lax.complex(u, u)
jax.lax.real(c)
jnp.nonzero(u, size=5)[0]
jnp.unique(u, size=5)
jnp.where(u > 0, size=5)[0]
jnp.argwhere(u > 0, size=5)
jnp.repeat(u, 3, axis=0, total_repeat_length=48)
jnp.split(u, 4)[0]
jnp.split(u, [3])[1]
jnp.eye(5, 6, 1)
jnp.eye(5, M=6)
jnp.tile(u, 2)
jnp.pad(u, 1)
jnp.pad(u, (1, 2))
jnp.pad(u, ((1, 2),))
jnp.pad(u[0], ((1, 2),))
jnp.pad(u, [(0, 1), (2, 3)])
jnp.pad(u[0], [1, 2])
jnp.take(u, 3, axis=1)
jnp.take(u, jnp.arange(6).reshape(2, 3), axis=0)
jnp.apply_along_axis(jnp.sum, 0, u)
jnp.vectorize(lambda a: a, signature="(n)->(n)")(u)
jnp.squeeze(u[:, None])
jnp.ravel(u)
jnp.resize(u, (3, 3))
jnp.vander(jnp.arange(4))
jnp.tril_indices(4)[0]
jnp.convolve(u[0], jnp.ones(3), mode="same")
jnp.atleast_2d(u[0])
jnp.block([u, u])
jnp.block([[u], [u]])
jnp.bincount(jnp.arange(5), length=9)
jnp.histogram(u[0])[0]
jnp.linspace(0, 1, num=5, endpoint=True)
jnp.arange(5.0)
jnp.arange(0, 1, 0.25)
jnp.array([u, u])
jnp.array([[1, 2]])
jnp.asarray(y)
jnp.float32(y)
jnp.outer(u[0], u[1])
jnp.cross(jnp.ones((5, 3)), jnp.ones((5, 3)))
jnp.linalg.qr(u.T)[0]
u.at[0].set(1.0)
u.at[:, 0].add(1.0)
u[u[0].astype(int)]
u[jnp.arange(3)]
u[jnp.arange(3), jnp.arange(3)]
u.real
c.real
c.T.imag
u.flatten()
u.mT
"""
"""Expressions about which we may say nothing, but nothing wrong."""


def program(expressions: list[str]) -> str:
    """Returns a program in which each expression is handed to a recorded call."""
    return GIVEN + "".join(f"jax.device_put({expression})\n" for expression in expressions)


def ours(expressions: list[str], folder: Path) -> Iterator[tuple[str, Value]]:
    """Yields what we say about each expression."""
    path = folder / "program.py"
    path.write_text(program(expressions))
    workspace = open_workspace([folder], files=[path], jax_version=(0, 10, 2), devices=8)
    calls = workspace.view(path).records.calls
    placed = {call.call: call for call in calls if call.dotted == "jax.device_put" and len(call.args) == 1}
    assert len(placed) == len(expressions)
    for expression, call in zip(expressions, sorted(placed.values(), key=lambda one: one.call.index), strict=True):
        yield expression, call.args[0].value


def theirs(expressions: list[str]) -> dict[str, Any]:
    """Returns the value of each expression, or only its shape where JAX tells it without compiling."""
    names: dict[str, Any] = {}
    exec(GIVEN, names)
    return {expression: _theirs(expression, names) for expression in expressions}


def _theirs(expression: str, names: dict[str, Any]) -> Any:
    import jax

    try:
        return jax.eval_shape(lambda: eval(expression, names))
    except (TypeError, IndexError, jax.errors.JAXTypeError):
        # The shape depends on the value, or the value is not an array.
        return eval(expression, names)


def _fits(shape: Sizes | None, real: tuple[int, ...]) -> bool:
    return shape is None or (
        len(shape) == len(real) and all(own in (None, size) for own, size in zip(shape, real, strict=True))
    )


def _is_wrong(value: Value, real: Any) -> bool:
    """Returns whether a value contradicts what the program gives."""
    import numpy

    if isinstance(value, Seq):
        return not value.open and len(value.items) != len(real)
    return not _fits(shape_of(value), real.shape if hasattr(real, "shape") else numpy.shape(real))


@pytest.mark.jax
def test_shapes_are_those_that_numpy_gives(tmp_path: Path) -> None:
    expressions = (KNOWN + UNKNOWN).splitlines()
    real = theirs(expressions)
    said = dict(ours(expressions, tmp_path))
    wrong = {
        text: (shape_of(value), getattr(real[text], "shape", real[text]))
        for text, value in said.items()
        if _is_wrong(value, real[text])
    }
    assert wrong == {}
    known = {text for text, value in said.items() if (shape := shape_of(value)) is not None and None not in shape}
    assert [text for text in KNOWN.splitlines() if text not in known] == []
