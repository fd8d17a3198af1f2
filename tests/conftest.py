"""What all tests share: the option that rewrites cases, and the rule that nothing is skipped in CI."""

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

# The same examples in every CI run, so that a red one can be run again; elsewhere new ones each time.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


# Servers that tests start ask no Python for its devices, but where a test is about that.
os.environ.setdefault("MESHLENS_DETECT_DEVICES", "0")

# Tests, and what they start, keep nothing in the folder of whoever runs them.
os.environ["MESHLENS_CACHE_DIR"] = tempfile.mkdtemp(prefix="meshlens-caches-")
atexit.register(shutil.rmtree, os.environ["MESHLENS_CACHE_DIR"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the marks of cases with what was found")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("jax") or os.environ.get("CI"):
        return
    missing = pytest.mark.skip(reason="JAX is not installed")
    for item in items:
        if item.get_closest_marker("jax"):
            item.add_marker(missing)


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether the marks of cases are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True)
def no_rule_crashes(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A rule that crashes costs a user only its own findings; here it costs the test."""
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
