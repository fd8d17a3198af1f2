"""The environment variables that a program sees while it is traced: the user's, without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from meshlens.devices.child_environment import search_path

_OURS = frozenset(
    {"JAX_NUM_CPU_DEVICES", "JAX_COMPILATION_CACHE_DIR", "JAX_TRACEBACK_FILTERING", "JAX_PLATFORM_NAME", "PYTHONPATH"}
)
_LOADING = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_", "PYTHON")
"""Prefixes of variables that load code into a process before its program begins."""
_SECRET = re.compile(
    r"(?:^|_)(?:TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT|(?:API|ACCESS|PRIVATE|SECRET|AUTH)_?KEY(?:_ID)?)"
    r"(?:_|$)",
    re.IGNORECASE,
)
_FLAGS_OF_OURS = re.compile(r"--(?:no)?xla_(?:force_host_platform_device_count|dump_|tpu_)|(?!--)")
"""Matches flags that a trace sets itself, flags unknown to XLA for CPUs and GPUs, and words that are not flags."""


def environment_of_worker(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that the user's Python sees while it traces.

    They are the user's own, as for `python train.py`, with the CPU as the only device, but without secrets, which a
    trace does not need, and without variables that load code before the program starts.

    Args:
        environ: the environment of this process or of a client.
    """
    kept = {name: value for name, value in environ.items() if _is_kept(name)}
    kept["PATH"] = os.pathsep.join(search_path(environ))
    folders = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(folder)]
    if folders:
        kept["PYTHONPATH"] = os.pathsep.join(folders)
    flags = [flag for flag in environ.get("XLA_FLAGS", "").split() if not _FLAGS_OF_OURS.match(flag)]
    if flags:
        kept["XLA_FLAGS"] = " ".join(flags)
    return {
        **kept,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


def _is_kept(name: str) -> bool:
    if name in _OURS or name.upper() in ("PATH", "XLA_FLAGS") or name.startswith(_LOADING):
        return False
    return not _SECRET.search(name)
