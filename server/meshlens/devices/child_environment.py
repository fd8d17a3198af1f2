"""The environment variables of a probe: the variables that devices need, but none that change Python's imports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from meshlens.devices.trust import leads_into

_PLAIN = frozenset(
    "HOME USERPROFILE USER LOGNAME LANG LC_ALL LC_CTYPE TMPDIR TEMP TMP "
    "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT PROGRAMFILES APPDATA LOCALAPPDATA NUMBER_OF_PROCESSORS".split()
)
_FOR_DEVICES = frozenset("LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH".split())
_BEGINNINGS = tuple(
    "CUDA_ CUDNN_ NVIDIA_ NCCL_ ROCM_ ROCR_ HIP_ HSA_ ONEAPI_ ZE_ SYCL_ XLA_ JAX_ PJRT_ TPU_ LIBTPU_ CLOUD_TPU_ "
    "MEGASCALE_ TF_".split()
)


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a probe.

    Args:
        environ: the environment of this process or of a client.
    """
    kept = {name: value for name, value in environ.items() if name.upper() in _PLAIN or _is_for_devices(name)}
    kept["PATH"] = os.pathsep.join(search_path(environ))
    return {**kept, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def search_path(environ: Mapping[str, str], untrusted: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Returns the trusted absolute folders of PATH; relative ones would be resolved in the workspace."""
    found = next((value for name, value in environ.items() if name.upper() == "PATH"), "")
    folders = dict.fromkeys(folder for folder in found.split(os.pathsep) if os.path.isabs(folder))
    return tuple(folder for folder in folders if not leads_into(folder, untrusted))


def _is_for_devices(name: str) -> bool:
    return name in _FOR_DEVICES or name.startswith(_BEGINNINGS)
