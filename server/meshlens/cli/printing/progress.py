"""A progress bar on stderr, only on a terminal and only for slow work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from meshlens.cli.printing.visible import visible

_PATIENCE = 0.7


class Progress:
    """The progress of the work; invisible until a bar is worth showing."""

    def __init__(self) -> None:
        self.text = ""
        self.done = 0
        self.total: int | None = None
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def stage(self, text: str, total: int | None) -> None:
        """Begins a stage of the work.

        Args:
            text: a description.
            total: the number of steps, if known.
        """
        with self._lock:
            self.text, self.done, self.total = visible(text), 0, total
            self._show()

    def advance(self) -> None:
        """Completes one step."""
        self.done += 1
        if self._bar is not None:
            with self._lock:
                self._show()

    def start(self) -> None:
        """Shows the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with self._lock:
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self.text, total=self.total)
            self._bar.start()
            self._show()

    def stop(self) -> None:
        """Removes the bar."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=self.text, completed=self.done, total=self.total)


@contextmanager
def progress() -> Iterator[Progress]:
    """Shows a progress bar for the enclosed work, if stderr is a terminal and the work is slow."""
    bar = Progress()
    if not sys.stderr.isatty() or not sys.stdout.isatty():
        yield bar
        return
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
