"""Free ports of this machine, for tests that start a server."""

from __future__ import annotations

import contextlib
import os
import socket


def free_port() -> int:
    """Returns a port that nobody listens on.

    It is below the ports that a kernel assigns (from 32768 on Linux), so that no connection made between now and
    its use takes it: `jax.distributed.initialize` ends with a segmentation fault if its port is taken.

    Raises:
        OSError: a thousand ports are taken.
    """
    start = 20_000 + os.getpid() % 10_000
    for port in range(start, start + 1000):
        with contextlib.suppress(OSError), socket.create_server(("", port)):
            return port
    raise OSError(f"the ports from {start} to {start + 999} are taken")
