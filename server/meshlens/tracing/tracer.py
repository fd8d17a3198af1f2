"""Traces a request.

`trace` blocks until the answer is available; a server calls it in a thread and stops it through `is_stopped`. Any
failure of the user's code is returned as a trace with an error.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meshlens.devices.processes import has_ended, memory_of_session, run_bounded
from meshlens.foreign_files import read_bytes
from meshlens.tracing import faults
from meshlens.tracing.answers import trace_from
from meshlens.tracing.costs import with_times
from meshlens.tracing.environment import environment_of_worker
from meshlens.tracing.model import REMATERIALIZATION, Fault, Trace
from meshlens.tracing.request import PARTITIONED, TraceRequest
from meshlens.tracing.room import MOST_ANSWER, newest_dump, size_of
from meshlens.tracing.warm import (
    START,
    NoJax,
    WarmWorker,
    WarmWorkers,
    WorkerLost,
    can_fork,
)

_FINAL = (REMATERIALIZATION, "Timeout", "OutOfMemory", "Flood")
_MOST_OUTPUT = 32 << 20
_MEMORY_EVERY = 0.3


class TraceStopped(Exception):
    """Raised if a trace is stopped because it is no longer wanted."""


def never() -> bool:
    """Returns False, so that a trace is never stopped."""
    return False


def silent(stage: str) -> None:
    """Ignores messages about progress."""


def trace(
    request: TraceRequest,
    workers: WarmWorkers | None = None,
    *,
    is_stopped: Callable[[], bool] = never,
    on_stage: Callable[[str], None] = silent,
    environ: Mapping[str, str] = os.environ,
) -> Trace:
    """Traces an entry in a separate process, and returns the trace.

    Args:
        request: the request.
        workers: the warm processes; None for a new process.
        is_stopped: called often; returns whether the caller no longer wants the answer.
        on_stage: called with the current stage, such as "importing" or "tracing".
        environ: the environment of the user's programs.

    Raises:
        TraceStopped: `is_stopped` returned True.
    """
    begin = time.monotonic()
    blank = Trace(request.entry, request.target.text, request.target.count)
    if request.untrusted:
        return replace(blank, errors=(faults.untrusted(request),))
    callbacks = _Callbacks(is_stopped, on_stage, environ)
    found = blank
    for attempt in _attempts(request):
        found = _attempt(attempt, blank, workers, callbacks)
        if all(error.type in _FINAL for error in found.errors):
            break
    return replace(with_times(found, request.machine), seconds=time.monotonic() - begin)


def _attempts(request: TraceRequest) -> tuple[TraceRequest, ...]:
    """Returns the attempts: first with XLA's partitioner for GPUs, if that is possible, then without it."""
    if request.level < PARTITIONED or request.target.platform not in ("gpu", "") or request.runs_main:
        return (request,)
    return replace(request, with_plugin=True), request


@dataclass(frozen=True, slots=True)
class _Callbacks:
    is_stopped: Callable[[], bool]
    on_stage: Callable[[str], None]
    environ: Mapping[str, str]


def _attempt(request: TraceRequest, blank: Trace, workers: WarmWorkers | None, callbacks: _Callbacks) -> Trace:
    with tempfile.TemporaryDirectory(prefix="meshlens-", ignore_cleanup_errors=True) as folder:
        room = Path(folder)
        (room / "dumps").mkdir()
        watch = _Watch(room, request, callbacks.is_stopped, callbacks.on_stage)
        try:
            if workers is not None and can_fork():
                status = _forked(request, workers, watch)
            else:
                status = _alone(request, watch, callbacks.environ)
        except NoJax as error:
            return replace(blank, errors=(faults.without_jax(request.interpreter, error.failure),))
        except WorkerLost as error:
            return replace(blank, errors=(faults.lost(str(error)),))
        except (OSError, ValueError) as error:
            return replace(blank, errors=(faults.not_started(request.interpreter, error),))
        if watch.why == "stopped":
            raise TraceStopped
        found = trace_from(room, request, blank)
        fault = _fault_of(watch, status, found, request)
        if fault is not None:
            found = replace(found, errors=(*found.errors, fault))
    return found


def _fault_of(watch: _Watch, status: int, found: Trace, request: TraceRequest) -> Fault | None:
    if watch.why in ("timeout", "memory", "flood"):
        return faults.stopped(watch.why, watch.stage, request.limits)
    if watch.why == "ended" and not found.errors:
        return faults.ended(status, watch.stage, watch.room)
    return None


def _forked(request: TraceRequest, workers: WarmWorkers, watch: _Watch) -> int:
    worker = workers.of(request.interpreter)
    try:
        return _in_fork(request, worker, watch)
    except WorkerLost:
        workers.drop(worker)
        raise


def _in_fork(request: TraceRequest, worker: WarmWorker, watch: _Watch) -> int:
    pid = worker.start(_question(request, watch.room))
    try:
        pause = 0.002
        while not watch.is_over(pid):
            time.sleep(pause)
            pause = min(pause * 1.3, 0.02)
    finally:
        status = worker.end(pid)
    return status


def _alone(request: TraceRequest, watch: _Watch, environ: Mapping[str, str]) -> int:
    (watch.room / "request.json").write_text(json.dumps(_question(request, watch.room)), encoding="utf-8")
    command = [request.interpreter, "-I", str(START), "once", str(watch.room)]
    seconds = request.limits.seconds + 30.0
    ended = run_bounded(
        command, environment_of_worker(environ), seconds=seconds, is_stopped=lambda: watch.is_over(None)
    )
    if ended.how == "ended":
        watch.is_over(None)
        watch.why = watch.why or "ended"
        return ended.code << 8 if ended.code >= 0 else -ended.code
    return 0


def _question(request: TraceRequest, room: Path) -> dict[str, Any]:
    return {
        "room": str(room),
        "file": str(request.file),
        "name": request.name,
        "root": str(request.root),
        "devices": request.target.count,
        "level": request.level,
        "run_main": request.runs_main,
        "argv": list(request.argv),
        "plugin": request.target.local_count if request.with_plugin else None,
    }


@dataclass(slots=True)
class _Watch:
    """Watches the output of a request, and detects its end.

    Attributes:
        room: the folder of the output.
        why: the reason for the end: "answered", "ended", "stopped", "timeout", "memory" or "flood".
        stage: the last stage of the request.
    """

    room: Path
    request: TraceRequest
    is_stopped: Callable[[], bool]
    on_stage: Callable[[str], None]
    why: str = ""
    stage: str = ""
    _end: float = 0.0
    _next_memory: float = 0.0
    _dump: tuple[str, int] = field(default=("", -1))

    def is_over(self, pid: int | None) -> bool:
        """Returns whether to stop waiting: no more output will come, or none is wanted."""
        now = time.monotonic()
        self._end = self._end or now + self.request.limits.seconds
        self._tell()
        self.why = self._why(pid, now)
        return bool(self.why)

    def _why(self, pid: int | None, now: float) -> str:
        if self.is_stopped():
            return "stopped"
        ended = pid is not None and has_ended(pid)
        if any((self.room / name).exists() for name in ("failed.json", "done")) or self._is_partitioned():
            return "answered"
        if ended:
            return "ended"
        if now >= self._end:
            return "timeout"
        if size_of(self.room / "output") > _MOST_OUTPUT:
            return "flood"
        if pid is not None and now >= self._next_memory:
            self._next_memory = now + _MEMORY_EVERY
            if memory_of_session(pid) > self.request.limits.memory:
                return "memory"
        return ""

    def _tell(self) -> None:
        found = read_bytes(self.room / "stage", 1000)
        stage = found.decode("utf-8", "replace") if isinstance(found, bytes) else self.stage
        if stage != self.stage:
            self.stage = stage
            self.on_stage(stage)

    def _is_partitioned(self) -> bool:
        """Returns whether the partitioned module is complete: it ends with its entry, or has stopped growing."""
        if self.request.level < PARTITIONED or not (self.room / "lowered.json").exists():
            return False
        dumped = newest_dump(self.room, "after_spmd-partitioning")
        if dumped is None:
            return False
        before, self._dump = self._dump, (dumped.name, size_of(dumped))
        if not self._dump[1]:
            return False
        text = read_bytes(dumped, MOST_ANSWER)
        if not isinstance(text, bytes) or not text.rstrip().endswith(b"\n}"):
            return False
        last = text.rfind(b"\n}", 0, text.rfind(b"\n}"))
        return before == self._dump or text.find(b"\nENTRY ", max(last, 0)) >= 0
