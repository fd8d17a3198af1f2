"""Keeps one Python process per interpreter warm for traces: it has imported JAX, and forks for each request.

The first request that needs a process starts it. The owner of a `WarmWorkers` object must end its processes: it calls
`end_idle` at intervals, and `end_all` at the end.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from meshlens.devices.processes import Kept, end_group, kept_running
from meshlens.tracing.environment import environment_of_worker

START = Path(__file__).with_name("worker") / "start.py"

_STARTING = 60.0
_ANSWERING = 10.0


class WorkerLost(Exception):
    """Raised if the warm process ended or does not answer; the message is the end of its error output."""


class NoJax(Exception):
    """Raised if the interpreter cannot import JAX.

    Attributes:
        failure: {type, message, missing} from the process.
    """

    def __init__(self, failure: Mapping[str, Any]) -> None:
        super().__init__(str(failure.get("message", "")))
        self.failure = failure


class WarmWorker:
    """A process that has imported JAX and forks for each request; thread-safe."""

    def __init__(self, interpreter: str, environ: Mapping[str, str] = os.environ) -> None:
        """Starts the process and waits until it has imported JAX.

        Raises:
            NoJax: the process cannot import JAX.
            WorkerLost: the process ended or did not answer in time.
            OSError: the process cannot be started.
        """
        self.interpreter = interpreter
        self.used = time.monotonic()
        self.busy = 0
        self._lock = threading.Lock()
        self._stack = ExitStack()
        try:
            self._kept: Kept = self._stack.enter_context(
                kept_running([interpreter, "-I", str(START), "serve"], environment_of_worker(environ))
            )
            ready = self._read(_STARTING)
        except BaseException:
            self._stack.close()
            raise
        if not ready.get("ready"):
            self._stack.close()
            failure = ready.get("failure")
            raise NoJax(failure if isinstance(failure, dict) else {})
        self.jax = str(ready.get("jax", ""))

    def start(self, request: Mapping[str, Any]) -> int:
        """Starts a request, and returns the id of its process.

        Raises:
            WorkerLost: the warm process has ended or does not answer.
        """
        with self._lock:
            self.used = time.monotonic()
            self.busy += 1
            pid = self._exchange(request).get("pid")
        if not isinstance(pid, int) or pid < 2:
            raise WorkerLost(self._kept.complaint())
        return pid

    def end(self, pid: int) -> int:
        """Ends a request with all its processes, and returns its exit status."""
        end_group(pid)
        with self._lock:
            self.used = time.monotonic()
            self.busy -= 1
            status = self._exchange({"reap": pid}).get("status")
        return status if isinstance(status, int) else 0

    @property
    def is_alive(self) -> bool:
        """Returns whether the process is running."""
        return self._kept.is_alive

    def close(self) -> None:
        """Ends the process and all of its requests."""
        self._stack.close()

    def _exchange(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._kept.ask(json.dumps(question).encode("ascii"))
        except (OSError, ValueError):
            raise WorkerLost(self._kept.complaint()) from None
        return self._read(_ANSWERING)

    def _read(self, seconds: float) -> dict[str, Any]:
        line = self._kept.answer(seconds)
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise WorkerLost(self._kept.complaint())
        return found


class WarmWorkers:
    """The warm processes, by interpreter."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._workers: dict[str, WarmWorker] = {}
        self._lock = threading.Lock()

    def of(self, interpreter: str) -> WarmWorker:
        """Returns the process of an interpreter, starting one if there is none or it has ended.

        Raises:
            NoJax: the interpreter cannot import JAX.
            WorkerLost: the process ended immediately.
            OSError: the process cannot be started.
        """
        with self._lock:
            worker = self._workers.get(interpreter)
            if worker is None or not worker.is_alive:
                if worker is not None:
                    worker.close()
                worker = self._workers[interpreter] = WarmWorker(interpreter, self._environ)
            return worker

    def drop(self, worker: WarmWorker) -> None:
        """Ends a process that failed, so that the next request starts another."""
        with self._lock:
            if self._workers.get(worker.interpreter) is worker:
                del self._workers[worker.interpreter]
        worker.close()

    def end_idle(self, seconds: float) -> None:
        """Ends the processes that have been unused for this many seconds."""
        with self._lock:
            for interpreter, worker in list(self._workers.items()):
                if not worker.busy and time.monotonic() - worker.used >= seconds:
                    del self._workers[interpreter]
                    worker.close()

    def end_all(self) -> None:
        """Ends all processes."""
        with self._lock:
            for worker in self._workers.values():
                worker.close()
            self._workers.clear()


def can_fork() -> bool:
    """Returns whether requests run in forks of a warm process; otherwise each runs in a new process."""
    return sys.platform == "linux"
