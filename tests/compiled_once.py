"""Lets the JAX programs that a test run starts share their compilation cache; most have functions in common."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

VARIABLE = "MESHLENS_TESTS_COMPILED"


def make_folder() -> None:
    """Makes the folder that all workers of this run share, and removes it when the run ends."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="meshlens-compiled-")
        atexit.register(shutil.rmtree, os.environ[VARIABLE], ignore_errors=True)


def environment() -> dict[str, str]:
    """Returns the variables that make a program keep what it compiles in that folder; none if there is no folder."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
