"""Shared by all tests: which of them run, the option that rewrites cases, and the rule that CI skips no test."""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

import depth
import reading_nodes
import virtual_devices

# Servers that tests start do not ask any Python for its devices, except in tests that are about devices.
os.environ.setdefault("MESHLENS_DETECT_DEVICES", "0")

# Projects in the tests must not see the environment that runs the tests; nox sets the second variable.
os.environ.pop("VIRTUAL_ENV", None)
os.environ.pop("UV_PROJECT_ENVIRONMENT", None)

# Tests, and the processes that they start, keep nothing in the cache folder of the user who runs them.
os.environ["MESHLENS_CACHE_DIR"] = tempfile.mkdtemp(prefix="meshlens-caches-")
atexit.register(shutil.rmtree, os.environ["MESHLENS_CACHE_DIR"], ignore_errors=True)

virtual_devices.make_folder()

COLLECTED = pytest.StashKey[list[tuple[str, frozenset[str]]]]()
"""Every test that was collected, whether it runs or not, with its marks."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the marks of cases with what was found")
    parser.addoption("--deep", action="store_true", help="run the tests marked deep too, and property tests at length")


def pytest_configure(config: pytest.Config) -> None:
    """Selects the quick tests unless marks or single tests were requested, before any module is imported."""
    if config.option.deep:
        os.environ[depth.VARIABLE] = "1"
    if not config.option.markexpr and not _names_tests(config):
        config.option.markexpr = depth.DEEP if depth.is_deep() else depth.QUICK
    reading_nodes.forbid_numbers()
    # The same examples in every CI run, so that a failing run can be repeated; elsewhere new ones each time.
    settings.register_profile("ci", derandomize=True, deadline=None, max_examples=depth.examples(100))
    settings.register_profile("here", deadline=None, max_examples=depth.examples(100))
    settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Starts no workers if only a few tests are named, or to rewrite files, which two workers could do at once."""
    return 0 if config.option.update or _names_tests(config) else None


def _names_tests(config: pytest.Config) -> bool:
    return any("::" in argument for argument in config.args)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = [(item.nodeid, frozenset(mark.name for mark in item.iter_markers())) for item in items]
    if importlib.util.find_spec("jax") or os.environ.get("CI"):
        return
    missing = pytest.mark.skip(reason="JAX is not installed")
    for item in items:
        if item.get_closest_marker("jax"):
            item.add_marker(missing)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Returns true if the marks of cases are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[tuple[str, frozenset[str]]]:
    """Returns every test that was collected, whether it runs or not, with its marks."""
    return request.config.stash[COLLECTED]


@pytest.fixture(autouse=True)
def no_rule_crashes(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails a test in which a rule crashes; for a user, a crash costs only the findings of that rule."""
    with caplog.at_level(logging.DEBUG, logger="meshlens"):
        yield
    crashed = [
        record.getMessage() + (f"\n{caplog.text}" if record.exc_info else "")
        for when in ("setup", "call")
        for record in caplog.get_records(when)
        if record.name.startswith("meshlens") and "crashed" in record.getMessage()
    ]
    if crashed and "rule_crashes_are_expected" not in caplog.text:
        pytest.fail("\n".join(crashed), pytrace=False)
