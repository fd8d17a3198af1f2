"""Device detection: queries each project's Python in the background, and notifies the client.

In an untrusted workspace, no program is started; the names of package metadata folders are read instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from meshlens.caches.folder import Cache, cache_of
from meshlens.devices.report import Report
from meshlens.devices.trust import enclosing
from meshlens.lsp.folders import Folder
from meshlens.lsp.session import Session
from meshlens.project.settings.configuration import is_project
from meshlens.project.settings.devices import target_of

if TYPE_CHECKING:
    from meshlens.devices.interpreters import Interpreter

PAUSE = 1.0
"""Seconds from opening a project until its Python is queried, so that the first edits are not delayed."""

END_SECONDS = 3.0
"""Seconds that the server waits at exit for a running query to end."""

SWITCH = "MESHLENS_DETECT_DEVICES"
"""The environment variable that disables queries if it is 0, as in tests."""

NO_PYTHON = 'found no Python for this folder; set "interpreter" to the one that has JAX'
NOT_TRUSTED = "the workspace is not trusted, so MeshLens does not query its Python for devices; trust it to see them"

LOOK_SECONDS = 1.5
"""Seconds between checks for environments created or changed after a project was opened."""


@dataclass(slots=True)
class _Run:
    """A running query.

    Attributes:
        by_user: whether a user requested it.
        stop: set when its report is no longer wanted.
        ended: set when its process is gone.
        task: returns the report.
    """

    by_user: bool
    stop: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)
    task: asyncio.Task[Report | None] | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """The environments of a project at the last check.

    Attributes:
        places: the paths that change when an environment is created or a package is installed.
        now: the times of their last change.
        asked: the times of their last change before the Python of the project was last queried.
    """

    places: tuple[Path, ...]
    now: tuple[int, ...]
    asked: tuple[int, ...]


class Probing:
    """The device information known for a session's projects.

    Attributes:
        trusted: whether the workspace is trusted.
        announce: tells the client that the devices of projects changed.
    """

    def __init__(self, session: Session, *, trusted: bool, interpreter: str | None) -> None:
        self._session = session
        self.trusted = trusted
        self.announce: Callable[[list[Path]], None] = lambda roots: None
        self._said: dict[Path | None, str | None] = {None: interpreter}
        self._chosen: dict[Path, Interpreter | None] = {}
        self._reports: dict[str, Report] = {}
        self._told: dict[Path, tuple[str | None, Report | None]] = {}
        self._runs: dict[str, _Run] = {}
        self._waiting: dict[Path, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: dict[Path, _Seen] = {}
        self._looking: asyncio.TimerHandle | None = None

    @property
    def untrusted(self) -> tuple[Path, ...]:
        """Returns the folders from which nothing may be run, including enclosing downloads; empty if trusted."""
        if self.trusted:
            return ()
        opened = (document.path.parent for document in self._session.documents.values())
        return enclosing((*self._session.given, *self._session.folders, *opened)) or (Path("/"),)

    def want(self, root: Path) -> None:
        """Schedules a query of a newly opened project's Python; a valid cached result replaces the query."""
        if root in self._waiting or not self._may_ask(root):
            return
        loop = asyncio.get_running_loop()
        self._waiting[root] = loop.call_later(PAUSE, self._begin, root)
        if self._looking is None:
            self._looking = loop.call_later(LOOK_SECONDS, self._look)

    def known(self, folder: Folder) -> Folder:
        """Returns a project with its devices, if they are known."""
        report = self.report_of(folder.root)
        target = target_of(folder.settings.devices, report)
        if report is folder.workspace.detected and target == folder.workspace.devices:
            return folder
        return replace(folder, workspace=folder.workspace.with_devices(target, report))

    def report_of(self, root: Path) -> Report | None:
        """Returns the report from a project's Python."""
        chosen = self._chosen.get(root)
        return self._reports.get(chosen.path) if chosen is not None else None

    def interpreter_of(self, root: Path) -> str | None:
        """Returns the Python of a project; None if it was not searched for or not found."""
        chosen = self._chosen.get(root)
        return chosen.path if chosen is not None else None

    async def python_of(self, root: Path) -> str | None:
        """Returns the Python of a project, searching for it if necessary; starts no program."""
        if root not in self._chosen:
            untrusted = self.untrusted
            chosen, places = await asyncio.to_thread(self._choose, root, untrusted)
            if bool(untrusted) == self.trusted:
                return None
            self._note(root, chosen, places)
        return self.interpreter_of(root)

    def said_of(self, root: Path) -> str | None:
        """Returns the editor's Python for a project."""
        return self._said.get(root, self._said[None])

    def failure_of(self, root: Path) -> str | None:
        """Returns why the devices of a project are unknown, and the remedy; None if nothing is wrong."""
        if not self.trusted:
            return NOT_TRUSTED
        report = self.report_of(root)
        if report is not None:
            return report.failure
        return NO_PYTHON if root in self._chosen and self._chosen[root] is None else None

    async def refresh(self, root: Path) -> None:
        """Queries the Python of a project again at a user's request, even if that starts a TPU."""
        if self._may_ask(root):
            await self._ask(root, by_user=True)

    def tell_interpreter(self, scope: Path | None, interpreter: str | None) -> None:
        """Stores the editor's Python for a folder, or for all folders."""
        self._said[scope] = interpreter
        self._again()

    def trust(self) -> None:
        """Marks the workspace as trusted from now on."""
        if not self.trusted:
            self.trusted = True
            self._again()

    def stop(self) -> None:
        """Ends the running queries and waits until they are gone."""
        for timer in (*self._waiting.values(), *filter(None, (self._looking,))):
            timer.cancel()
        runs = list(self._runs.values())
        for run in runs:
            run.stop.set()
        for run in runs:
            run.ended.wait(END_SECONDS)

    def _again(self) -> None:
        for run in self._runs.values():
            run.stop.set()
        self._chosen.clear()
        self._reports.clear()
        for root in self._session.folders:
            self.want(root)

    def _may_ask(self, root: Path) -> bool:
        folder = self._session.folders.get(root)
        return os.environ.get(SWITCH) != "0" and (folder is None or folder.features.detect_devices)

    def _look(self) -> None:
        """Queries again, once changes stop, if an environment was created or a package installed."""
        self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        for root, seen in list(self._seen.items()):
            now = _times(seen.places)
            self._seen[root] = replace(seen, now=now)
            if now == seen.now != seen.asked and self._may_ask(root):
                self._seen[root] = replace(seen, asked=now)
                self._do(self._notice(root))

    async def _notice(self, root: Path) -> None:
        await self._ask(root, by_user=False)
        self._session.judge_again()

    def _begin(self, root: Path) -> None:
        self._waiting.pop(root, None)
        if root in self._session.folders:
            self._do(self._ask(root, by_user=False))

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(step)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._session.warn_once(f"devices could not be detected: {type(error).__name__}: {error}")

    async def _ask(self, root: Path, *, by_user: bool) -> None:
        untrusted = self.untrusted
        chosen, places = await asyncio.to_thread(self._choose, root, untrusted)
        if bool(untrusted) == self.trusted:
            return
        self._note(root, chosen, places)
        if chosen is not None:
            ask = partial(_report, chosen.path, untrusted, _cache_of(root), by_user=by_user)
            if await self._answered(chosen.path, ask, is_kept=is_project(root), by_user=by_user) is None:
                return
        self._put([one for one, found in self._chosen.items() if found == chosen])

    def _note(self, root: Path, chosen: Interpreter | None, places: tuple[Path, ...]) -> None:
        self._chosen[root] = chosen
        now = _times(places)
        self._seen[root] = _Seen(places, now, now)

    def _choose(self, root: Path, untrusted: tuple[Path, ...]) -> tuple[Interpreter | None, tuple[Path, ...]]:
        """Returns the Python of a project, and the paths whose changes may affect that choice."""
        folder = self._session.folders.get(root)
        settings = folder.settings if folder is not None else None
        from meshlens.devices.interpreters import Wishes, choose_interpreter, places_of

        wishes = Wishes(
            settings.interpreter if settings is not None else None,
            settings.folder if settings is not None else "",
            self._said.get(root, self._said[None]),
        )
        chosen = choose_interpreter(root, wishes, untrusted=untrusted)
        return chosen, () if untrusted else places_of(root, wishes)

    async def _answered(
        self, python: str, ask: Callable[[_Run], Report | None], *, is_kept: bool, by_user: bool
    ) -> Report | None:
        """Returns the report of a Python; concurrent requests share one query."""
        known = self._reports.get(python)
        if not by_user and known is not None and known.failure is None and not is_kept:
            return known
        run = self._runs.get(python)
        if run is not None and run.task is not None and by_user and not run.by_user:
            # The running query lacks permissions that a user's request has.
            await asyncio.wait((run.task,))
            run = self._runs.get(python)
        if run is None or run.stop.is_set():
            run = self._runs[python] = _Run(by_user)
            run.task = asyncio.ensure_future(self._run(python, run, ask))
        assert run.task is not None
        return await asyncio.shield(run.task)

    async def _run(self, python: str, run: _Run, ask: Callable[[_Run], Report | None]) -> Report | None:
        try:
            report = await asyncio.to_thread(ask, run)
        finally:
            if self._runs.get(python) is run:
                del self._runs[python]
        if report is None or run.stop.is_set():
            return None
        self._reports[python] = report
        if report.failure is not None:
            self._session.warn_once(f"devices: {report.failure}")
        return report

    def _put(self, roots: list[Path]) -> None:
        """Stores the reports in the projects, and refreshes everything that they affect."""
        session = self._session
        told = {root: (self.interpreter_of(root), self.report_of(root)) for root in roots}
        if all(self._told.get(root) == one for root, one in told.items()):
            return
        self._told.update(told)
        for root in roots:
            folder = session.folders.get(root)
            now = self.known(folder) if folder is not None else None
            if folder is None or now is None or now is folder:
                continue
            aims_elsewhere = now.workspace.devices != folder.workspace.devices
            session.put(now)
            if aims_elsewhere:
                _check_again(session, root)
        session.refresh_shown()
        self.announce(roots)


def _times(places: tuple[Path, ...]) -> tuple[int, ...]:
    """Returns when these files and folders changed; 0 for a missing one."""
    found = []
    for place in places:
        try:
            found.append(place.stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


def _check_again(session: Session, root: Path) -> None:
    """Checks a project again after its target devices changed."""
    if session.folders[root].small is False:
        session.indexing.leave(root)
        session.indexing.want(root)
    for path in dict.fromkeys(one.path for one in session.documents.values()):
        if session.folder_of(path).root == root:
            session.touch(path)
    session.pull_again()


def _cache_of(root: Path) -> Cache | None:
    """Returns the cache for reports of a project; None for loose files."""
    return cache_of(root) if is_project(root) else None


def _report(
    python: str, untrusted: tuple[Path, ...], cache: Cache | None, run: _Run, *, by_user: bool
) -> Report | None:
    """Returns the report of a query, including any failure; None if it is no longer wanted. Runs in a thread."""
    from meshlens.devices.reports import new_report, report_of
    from meshlens.devices.runner import ProbeStopped, Question

    question = Question(python, untrusted=untrusted, may_start_tpu=by_user)
    try:
        return (new_report if by_user else report_of)(question, cache, is_stopped=run.stop.is_set)
    except ProbeStopped:
        return None
    finally:
        run.ended.set()
