"""Caches in a test's own folder."""

from __future__ import annotations

from pathlib import Path

from meshlens.caches.folder import Cache

KEY = bytes(range(32))


def cache_in(folder: Path) -> Cache:
    """Returns the caches of a project, sealed with a key that tests know."""
    return Cache(folder / "0123456789abcdef01234567", KEY)
