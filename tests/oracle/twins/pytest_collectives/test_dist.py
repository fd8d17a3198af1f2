import functools

import dist
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


@pytest.fixture(scope="session", params=[(8,), (2, 4)], ids=["flat", "grid"])
def mesh(request):
    names = ("data", "model")[: len(request.param)]
    return Mesh(np.array(jax.devices()).reshape(request.param), names)


@pytest.fixture
def rows():
    return jnp.asarray(np.random.RandomState(0).randn(32, 5).astype("float32"))


@pytest.fixture
def run(mesh):
    def mapped(fn, *args, in_specs, out_specs):
        return jax.shard_map(fn, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)(*args)

    return mapped


def test_standardize(run, rows):
    out = run(dist.standardize, rows, in_specs=P("data"), out_specs=P("data"))
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(out.std(0), 1, rtol=1e-3)


def test_global_norm(run, rows):
    tree = {"a": rows, "b": rows[:, :2]}
    got = run(dist.global_norm, tree, in_specs=({"a": P("data"), "b": P("data")},), out_specs=P())
    want = jnp.sqrt((rows**2).sum() + (rows[:, :2] ** 2).sum())
    assert got == pytest.approx(float(want), rel=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_topk(run, k):
    scores = jnp.asarray(np.random.RandomState(1).permutation(64).astype("float32"))
    fn = functools.partial(dist.sharded_topk, k=k)
    best, index = run(fn, scores, in_specs=P("data"), out_specs=(P(), P()))
    np.testing.assert_allclose(best, [63, 62, 61][:k])
    np.testing.assert_allclose(scores[index], best)
