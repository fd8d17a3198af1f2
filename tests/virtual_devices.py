"""The environment in which tests run JAX programs: virtual CPU devices, and as little compilation as possible.

Most of the time of a short program is its compilation, so XLA skips most optimizations, and the programs that a test
run starts share their compilation cache; most have functions in common.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from importlib import metadata

DEVICES = 8
VARIABLE = "MESHLENS_TESTS_COMPILED"


def make_folder() -> None:
    """Makes the folder of the cache that all workers of this run share, and removes it when the run ends."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="meshlens-compiled-")
        atexit.register(shutil.rmtree, os.environ[VARIABLE], ignore_errors=True)


def environment(devices: int = DEVICES) -> dict[str, str]:
    """Returns the variables that a program runs with; the cache is left out if no folder was made for it."""
    flags = [
        f"--xla_force_host_platform_device_count={devices}",
        "--xla_cpu_multi_thread_eigen=false",
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
        # XLA ends a process whose flags it does not know.
        *(["--xla_cpu_use_fusion_emitters=false"] if _may_leave_out_fusion_emitters() else []),
    ]
    variables = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": " ".join(flags)}
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return variables
    return variables | {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def _may_leave_out_fusion_emitters() -> bool:
    """Returns true if this environment has a jaxlib that can do without XLA's fusion emitters for CPUs."""
    try:
        major, minor = map(int, metadata.version("jaxlib").split(".")[:2])
    except metadata.PackageNotFoundError:
        return False
    return (0, 6) <= (major, minor) <= (0, 10)
