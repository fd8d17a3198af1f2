"""Writes to the client through stdout, and keeps other output of this process out of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

_CHUNK = 1 << 20


class PipeWriter:
    """Writes whole messages to a file descriptor.

    Attributes:
        lost: called when the reader is gone.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.lost: Callable[[], object] = lambda: None

    def write(self, data: bytes) -> None:
        """Writes all data, or nothing if the reader is gone."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except BrokenPipeError:
            self.lost()

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self._descriptor)


def claim_stdout() -> PipeWriter:
    """Reserves stdout for the protocol: from now on, other output of this process goes to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return PipeWriter(kept)


def received(descriptor: int) -> bytes:
    """Returns the bytes that are in a pipe, after waiting for some; empty at its end."""
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
