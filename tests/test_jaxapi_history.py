"""The history of JAX's interface and its keywords, against the installed version."""

from __future__ import annotations

import inspect

import pytest

from installed import gone, jax_version, lookup, needs_jax, resolve, rows, signature
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.history import (
    CHANGES,
    KEYWORD_CHANGES,
    NEWEST,
    Change,
    KeywordChange,
    change,
    parse_version,
    spell_version,
)
from meshlens.jaxapi.keywords import TRANSFORMATION_KEYWORDS, keywords
from meshlens.jaxapi.meshes import MESHES


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.10.2", (0, 10, 2)),
        ("v0.8", (0, 8, 0)),
        ("0.4.30.dev20240601+abc", (0, 4, 30)),
        ("0.9.0.1", (0, 9, 0, 1)),
        ("0.5.0rc1", (0, 5, 0)),
        ("latest", None),
        ("", None),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


def test_versions_are_spelled() -> None:
    assert spell_version((0, 10, 2)) == "0.10.2"


@pytest.mark.jax
@pytest.mark.parametrize("dotted", TRANSFORMATION_KEYWORDS)
def test_keywords(dotted: str) -> None:
    needs_jax()
    positional, only = signature(resolve(dotted))
    positional_only = {
        p.name for p in inspect.signature(resolve(dotted)).parameters.values() if p.kind is p.POSITIONAL_ONLY
    }
    if dotted == "jax.checkpoint" and jax_version() < (0, 8, 2):
        pytest.skip("its signature was that of what it wraps")
    assert keywords(dotted, jax_version()) == {*positional, *only} - positional_only


@pytest.mark.jax
@pytest.mark.parametrize("dotted", ["jax.pmap", "jax.vmap", "jax.shard_map", "jax.experimental.shard_map.shard_map"])
def test_keywords_of_binders(dotted: str) -> None:
    needs_jax()
    if gone(BINDERS[dotted].since, None):
        return
    parameters = inspect.signature(resolve(dotted)).parameters.values()
    assert keywords(dotted, jax_version()) == {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}


def test_keywords_by_version() -> None:
    old = keywords("jax.experimental.shard_map.shard_map", (0, 7, 2)) or frozenset()
    new = keywords("jax.experimental.shard_map.shard_map", (0, 8, 0)) or frozenset()
    assert old - new == {"auto"}
    assert "static_argnums" not in (keywords("jax.pmap", NEWEST) or ())
    assert "axis_name" not in (keywords("jax.jit", NEWEST) or ())
    assert keywords("equinox.filter_vmap", NEWEST) is None
    assert keywords("somewhere.else", NEWEST) is None


@pytest.mark.jax
@rows(CHANGES)
def test_change(row: Change) -> None:
    needs_jax()
    version = jax_version()
    if gone(row.since, row.removed):
        with pytest.raises((AttributeError, ImportError)):
            lookup(row.dotted)
        return
    lookup(row.dotted)
    available = row.replacement_since is None or version >= row.replacement_since
    if row.replacement and available and (row.deprecated is None or version >= row.deprecated):
        lookup(row.replacement)


@pytest.mark.jax
@rows(CHANGES)
def test_replacement(row: Change) -> None:
    needs_jax()
    successor = CHANGES.get(row.replacement or "")
    since = row.replacement_since or (successor.since if successor else None)
    if row.replacement is None or (since is not None and jax_version() < since):
        return
    lookup(row.replacement)


def test_changes_are_in_order() -> None:
    for row in CHANGES.values():
        order = [version for version in (row.since, row.deprecated, row.removed) if version is not None]
        assert order == sorted(order), row.dotted
        assert all(version <= NEWEST for version in order), row.dotted
        assert not row.note.endswith("."), row.dotted


@pytest.mark.jax
@pytest.mark.parametrize("row", KEYWORD_CHANGES.values(), ids=lambda row: f"{row.dotted}-{row.keyword}")
def test_keyword_change(row: KeywordChange) -> None:
    needs_jax()
    try:
        parameters = inspect.signature(lookup(row.dotted)).parameters
    except AttributeError:
        assert gone((BINDERS.get(row.dotted) or MESHES[row.dotted]).since, None)
        return
    accepted = {p.name for p in parameters.values() if p.kind is not p.POSITIONAL_ONLY}
    assert (row.keyword in accepted) is not gone(row.since, row.removed)
    if row.replacement and row.rewrite == "rename" and gone(None, row.removed):
        assert row.replacement in accepted


def test_changes_are_found_through_their_module() -> None:
    found = change("jax.experimental.maps.make_mesh")
    assert found is not None
    assert found.dotted == "jax.experimental.maps"
    assert change("jax.tree.map") is None
    assert change("jax.experimental.shard_map") is None
    assert change("numpy.sum") is None
