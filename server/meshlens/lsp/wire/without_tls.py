"""Imports asyncio without TLS, which a server on stdin or a loopback port does not need."""

from __future__ import annotations

import sys


def import_asyncio() -> None:
    """Imports asyncio as if Python lacked OpenSSL, a case that asyncio supports; `ssl` can be imported later.

    Loading OpenSSL takes about 10 ms and a few MiB (Python 3.11, x86-64 Linux).
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    missing: dict[str, object] = sys.modules  # type: ignore[assignment]  # None stands for what cannot be imported
    missing["ssl"] = None
    try:
        import asyncio.sslproto  # noqa: F401  # the last asyncio module that imports ssl
    finally:
        del missing["ssl"]
