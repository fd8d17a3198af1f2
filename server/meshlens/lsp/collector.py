"""When Python looks for dead cycles: while nobody types.

A collection in the middle of a keystroke costs more than the keystroke.
"""

from __future__ import annotations

import asyncio
import gc

IDLE_SECONDS, CALM_SECONDS = 0.3, 3.0
_MANY_OBJECTS = 200_000


class Collector:
    """Collects when the server has been idle for a moment; if it never is, when very many objects have come."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._frozen = False
        gc.set_threshold(_MANY_OBJECTS, 20, 100)

    def worked(self) -> None:
        """Notes that a message was handled."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(IDLE_SECONDS, self._idle)

    def _idle(self) -> None:
        gc.collect(1)
        self._timer = self._loop.call_later(CALM_SECONDS, self._calm)

    def _calm(self) -> None:
        self._timer = None
        gc.collect()
        if not self._frozen:
            # What was loaded at the start mostly stays to the end.
            gc.freeze()
            self._frozen = True
