"""The table of what releases of JAX removed and deprecated, against the installed release."""

from __future__ import annotations

import enum
import inspect
import json
import subprocess
import sys
from functools import cache

import pytest

from installed import jax_version, lookup, needs_jax
from meshlens.jaxapi.history import CHANGES, NEWEST, changed_names, parse_version
from meshlens.jaxapi.history import _released as released_names
from meshlens.jaxapi.history import _released_keywords as released_keywords
from meshlens.jaxapi.released import KEYWORDS, NAMES, RELEASES

FIRST = parse_version(RELEASES.split()[0]) or NEWEST
NOT_HERE = ("jax.experimental.roofline", "jax.experimental.array_serialization")
"""Modules that can be imported only with packages that JAX does not require."""


_WARNED = """
import importlib, json, sys, warnings
warned = []
for dotted in json.load(sys.stdin):
    module, _, name = dotted.rpartition(".")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            getattr(importlib.import_module(module), name)
        except (AttributeError, ImportError):
            continue
    if any(name in str(one.message) for one in caught):
        warned.append(dotted)
print(json.dumps(warned))
"""


@cache
def _warned() -> frozenset[str]:
    """Returns the deprecated names that JAX warns about, in a process where nothing else has accessed them before."""
    asked = json.dumps([dotted for dotted, row in released_names().items() if row.deprecated is not None])
    ran = subprocess.run([sys.executable, "-c", _WARNED], input=asked, capture_output=True, text=True, check=True)
    return frozenset(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.jax
@pytest.mark.parametrize("module", [module for module in NAMES if not module.startswith(NOT_HERE)])
def test_names(module):
    needs_jax()
    version = jax_version()
    if version > NEWEST:
        pytest.skip("the table is older than the JAX that is installed")
    for dotted, row in released_names().items():
        if dotted.rpartition(".")[0] != module:
            continue
        if row.removed is not None and version >= row.removed:
            with pytest.raises((AttributeError, ImportError)):
                lookup(dotted)
        elif row.deprecated is not None and version >= row.deprecated:
            assert dotted in _warned()


@pytest.mark.jax
@pytest.mark.parametrize("dotted", [dotted for dotted in KEYWORDS if not dotted.startswith(NOT_HERE)])
def test_keywords(dotted):
    needs_jax()
    version = jax_version()
    if version > NEWEST:
        pytest.skip("the table is older than the JAX that is installed")
    try:
        found = lookup(dotted)
    except (AttributeError, ImportError):
        return
    try:
        # An enum member's signature is that of its class.
        called = found.__call__ if isinstance(found, enum.Enum) else found
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return
    taken = {one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY}
    for keyword, row in released_keywords()[dotted].items():
        if row.removed is not None and version >= row.removed:
            assert keyword not in taken, keyword


@pytest.mark.parametrize("dotted", [dotted for dotted in CHANGES if dotted in released_names()])
def test_what_is_written_by_hand_agrees_with_the_releases(dotted):
    by_hand, read = CHANGES[dotted], released_names()[dotted]
    assert by_hand.removed == read.removed
    if read.deprecated is not None and by_hand.deprecated is not None:
        # A release before the ones that were read, or one that was withdrawn, may have warned first.
        assert by_hand.deprecated <= read.deprecated


@pytest.mark.parametrize(
    "dotted",
    (
        "jax.experimental.pallas.load jax.experimental.pallas.store jax.experimental.pallas.tpu.TPUCompilerParams "
        "jax.experimental.pallas.tpu.repeat jax.dlpack.to_dlpack jax.numpy.NINF jax.tree_map jax.lib.xla_client "
        "jax.core.Jaxpr jax.interpreters.xla.pytype_aval_mappings"
    ).split(),
)
def test_known_names_come_out_of_the_releases(dotted):
    assert dotted in released_names()


@pytest.mark.parametrize("dotted", "jax.tree.map jax.jit jax.numpy.load jax.lax.psum jax.make_mesh jax.vmap".split())
def test_what_every_release_has_is_not_told(dotted):
    assert dotted not in changed_names()


def test_the_releases_are_in_order():
    releases = [parse_version(release) for release in RELEASES.split()]
    assert releases == sorted(releases)
    assert releases[-1] == NEWEST
    assert FIRST < (0, 4, 30) < NEWEST
