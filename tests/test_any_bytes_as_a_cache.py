"""Whatever bytes are in the place of a cache: a run ends, finds what it finds without one, and touches nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bench.forge import DAMAGED, FOREIGN, FORGED, KINDS, SEALED, World, made, tried
from depth import examples


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Yields a project with caches, and fails if a run has touched anything else."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "caches").mkdir(mode=0o700)
    (folder / "outside").write_text("as it was")
    yield World(folder)
    assert (folder / "outside").read_text() == "as it was"
    assert sorted(path.name for path in folder.iterdir()) == ["caches", "outside", "project"]


def _project(world: World) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in world.root.iterdir()}


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), content=st.binary(max_size=3000))
def test_any_bytes(world, kind, content):
    assume(kind == "key" or kind in world.good)  # without JAX there is no device report
    tried(world, kind, FOREIGN, content)
    assert _project(world) == world.others


@settings(max_examples=examples(250), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), how=st.sampled_from((DAMAGED, FOREIGN, FORGED, SEALED)), seed=st.integers(0))
def test_what_was_damaged_forged_or_made_by_others(world, kind, how, seed):
    assume(kind == "key" or kind in world.good)
    tried(world, kind, how, made(world, kind, how, random.Random(seed)))
    assert _project(world) == world.others


def test_the_property_can_fail(world: World):
    def take_what_the_user_sealed() -> None:
        for seed in range(300):
            tried(world, "results", FORGED, made(world, "results", SEALED, random.Random(seed)))

    with pytest.raises(AssertionError, match="other findings"):
        take_what_the_user_sealed()
