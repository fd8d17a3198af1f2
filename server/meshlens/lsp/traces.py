"""A session's traces: made on request, stale once their code changes, and sent to the client."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

from meshlens.devices.topology import Topology, parse_topology
from meshlens.foreign_files import Unread
from meshlens.ide.shown.traced import KeptTrace, is_stale, keep
from meshlens.lsp.progress import working
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import uri_of
from meshlens.lsp.wire.refusal import Refusal
from meshlens.project.disk.python_text import read_source
from meshlens.project.view import FileView
from meshlens.tracing.machines import machine_of
from meshlens.tracing.model import Trace
from meshlens.tracing.request import TraceRequest
from meshlens.tracing.tracer import TraceStopped, trace
from meshlens.tracing.warm import WarmWorkers

DID_CHANGE = "meshlens/tracesDidChange"
IDLE_SECONDS = 120.0
"""Seconds that a Python process stays warm after its last trace."""

_DEFAULT = 8
_NOT_TRUSTED = "the workspace is not trusted, so nothing in it runs; trust it to trace this"
_NO_PYTHON = 'found no Python for this folder; set "interpreter" to the one that has JAX'


@dataclass(slots=True)
class Traces:
    """The traces of a session.

    Attributes:
        session: the session.
        kept: the last trace of each entry, by its file and name.
    """

    session: Session
    kept: dict[tuple[Path, str], KeptTrace] = field(default_factory=dict)
    _workers: WarmWorkers = field(default_factory=WarmWorkers)
    _running: dict[tuple[Path, str], Event] = field(default_factory=dict)
    _idle: asyncio.TimerHandle | None = None

    async def trace(self, path: Path, name: str, target: Topology) -> KeptTrace:
        """Traces an entry, and stores the result.

        Raises:
            Refusal: nothing may be run, a file is not saved, no Python was found, or the trace was stopped.
        """
        session = self.session
        if not session.trusted:
            raise Refusal(_NOT_TRUSTED)
        root = session.folder_of(path).root
        self._refuse_unsaved(root)
        interpreter = await session.probing.python_of(root)
        if interpreter is None:
            raise Refusal(_NO_PYTHON)
        workspace = session.folder_of(path).workspace
        request = TraceRequest(interpreter, root, path, name, target, machine=machine_of(target))
        found = await self._run(request)

        def as_it_was(file: Path) -> FileView | None:
            return workspace.view(file) if str(file) in workspace.files else None

        made = keep(found, path, name, as_it_was)
        self.kept[(path, name)] = made
        self._show(path)
        return made

    def forget(self) -> None:
        """Drops every trace."""
        paths = {path for path, _ in self.kept}
        self.kept.clear()
        for path in paths:
            self._show(path)

    def of(self, path: Path) -> list[tuple[KeptTrace, bool]]:
        """Returns the traces that read a file, each with whether it is stale."""
        reading = [one for one in self.kept.values() if any(file.path == path for file in one.files)]
        return [(one, is_stale(one, self.session.view)) for one in reading]

    def stop(self) -> None:
        """Ends running traces and warm processes."""
        for event in self._running.values():
            event.set()
        if self._idle is not None:
            self._idle.cancel()
        self._workers.end_all()

    async def _run(self, request: TraceRequest) -> Trace:
        """Runs a request in a thread, after stopping a running trace of the same entry."""
        key = (request.file, request.name)
        if (before := self._running.get(key)) is not None:
            before.set()
        stop = self._running[key] = Event()
        loop = asyncio.get_running_loop()
        title = f"Tracing {request.name} on {request.target.text}"
        try:
            async with working(self.session, title) as tell:

                def tell_stage(stage: str) -> None:
                    loop.call_soon_threadsafe(tell, stage)

                run = partial(trace, request, self._workers, is_stopped=stop.is_set, on_stage=tell_stage)
                return await asyncio.to_thread(run)
        except TraceStopped:
            raise Refusal("the trace was stopped") from None
        finally:
            stop.set()
            if self._running.get(key) is stop:
                del self._running[key]
            self._end_later(loop)

    def _end_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = loop.call_later(IDLE_SECONDS, self._workers.end_idle, IDLE_SECONDS / 2)

    def _refuse_unsaved(self, root: Path) -> None:
        for document in self.session.documents.values():
            if document.notebook is None and document.path.is_relative_to(root):
                raw = read_source(document.path)
                if isinstance(raw, Unread) or raw != document.text:
                    raise Refusal(f"save {document.path.name} first; a trace runs the files on disk")

    def _show(self, path: Path) -> None:
        session = self.session
        session.refresh_shown()
        session.touch(path)
        session.pull_again()
        if session.client.shows_traces:
            session.notify(DID_CHANGE, {"uri": uri_of(path)})


def traces_of(session: Session) -> Traces:
    """Returns the traces of a session, created on first use."""
    if session.traces is None:
        session.traces = Traces(session)
    found: Traces = session.traces
    return found


def target_of(view: FileView, text: object) -> Topology:
    """Returns the devices for a trace: the given ones, those of the file, or eight.

    Raises:
        BadTopology: the text does not name devices.
    """
    if text is not None:
        return parse_topology(str(text))
    return view.devices.target or parse_topology(_DEFAULT)
