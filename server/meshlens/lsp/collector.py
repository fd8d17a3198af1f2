"""When Python looks for dead cycles: while nobody types.

A collection in the middle of a keystroke costs more than the keystroke.
"""

from __future__ import annotations

import asyncio
import gc
import sys

IDLE_SECONDS, CALM_SECONDS = 0.3, 3.0
_MANY_OBJECTS = 50_000
"""New objects after which Python collects while somebody types.

With four times as many, what died meanwhile left up to 18 MiB of holes after 2,000 edits.
"""


class Collector:
    """Collects when the server has been idle for a moment; if it never is, when very many objects have come."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        gc.set_threshold(_MANY_OBJECTS, 20, 100)

    def worked(self) -> None:
        """Notes that a message was handled."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(IDLE_SECONDS, self._idle)

    def _idle(self) -> None:
        # What was frozen at the last calm is not looked at.
        gc.collect()
        self._timer = self._loop.call_later(CALM_SECONDS, self._calm)

    def _calm(self) -> None:
        self._timer = None
        # What is alive now mostly stays for a while, so the collections until the next calm need not look at it;
        # but not for ever: a project that was solved anew leaves cycles.
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _give_back()


def _give_back() -> None:
    """Gives memory that is free back to the system, where the C library would keep it."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        # Not every C library can.
        return
