"""The fingerprint of this program, used in the names of cache files so that other builds do not read them."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

import meshlens


@cache
def fingerprint() -> str:
    """Returns a fingerprint of this program: its version, its files and the Python that runs it."""
    parts = [meshlens.__version__, sys.version, sys.byteorder]
    waiting = [os.path.dirname(meshlens.__file__)]
    while waiting:
        for entry in sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                parts.append(f"{entry.path}:{status.st_mtime_ns}:{status.st_size}")
            elif entry.name[0] not in "._" and entry.is_dir():
                waiting.append(entry.path)
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
