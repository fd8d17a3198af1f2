"""What all tests share: the option that rewrites cases, and the rule that nothing is skipped in CI."""

from __future__ import annotations

import importlib.util
import os

import pytest


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
