"""Imports asyncio without TLS, which a server on stdin or on this machine's loopback has no use for."""

from __future__ import annotations

import sys


def import_asyncio() -> None:
    """Imports asyncio as where Python has no OpenSSL, which asyncio provides for; `ssl` can be imported later.

    OpenSSL takes some 10 ms to load and a few MiB to keep (Python 3.11, x86-64 Linux).
    """
    if "asyncio" in sys.modules or "ssl" in sys.modules:
        return
    missing: dict[str, object] = sys.modules  # type: ignore[assignment]  # None stands for what cannot be imported
    missing["ssl"] = None
    try:
        import asyncio.sslproto  # noqa: F401  # the last of its modules that asks for it
    finally:
        del missing["ssl"]
