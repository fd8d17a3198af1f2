"""Keeps the helper processes of large projects up to date, and loads the files that their open files need."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from meshlens.lsp.beside.index import Index, IndexFailed
from meshlens.lsp.folders import Folder
from meshlens.lsp.loading import raw_of, read_quietly, unneeded, with_folder_versions
from meshlens.lsp.progress import working
from meshlens.lsp.session import Session
from meshlens.project.jedi_bridge import Found
from meshlens.project.solving.neighbours import Neighbourhood
from meshlens.project.solving.solution import Focus
from meshlens.settings import Settings

PAUSE = 2.0
"""Seconds without a write to disk before the project is read again."""

OUTSIDE_SECONDS = 5.0
"""Seconds that a request about an installed package may take."""

_log = logging.getLogger("meshlens")


def settings_for(folder: Folder) -> Settings:
    """Returns the settings of a project with its target devices, which may be the detected ones."""
    return replace(folder.settings, devices=folder.workspace.devices)


class Indexing:
    """The large projects of a session.

    Attributes:
        known: for each project, the neighborhood of each file.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._indexes: dict[Path, Index] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._waiting: dict[Path, asyncio.TimerHandle] = {}
        self._changes: dict[Path, dict[Path, bytes | None]] = {}
        self.known: dict[Path, Mapping[str, Neighbourhood]] = {}
        self._outside: dict[Path, Index] = {}
        self._answered: dict[tuple[Path, str], Found | None] = {}

    def want(self, root: Path) -> None:
        """Reads a project if needed, then loads the files that the open files need; does nothing if in progress."""
        if root in self._tasks:
            return
        if root not in self.known:
            self._begin(root)
        else:
            self._follow(root, self.settle(root))

    def changed(self, root: Path, path: Path) -> None:
        """Notes that a file was written or deleted; the project is read again once the changes stop."""
        if root not in self.known and root not in self._tasks:
            return
        self._changes.setdefault(root, {})[path] = raw_of(self._session, path)
        if (timer := self._waiting.pop(root, None)) is not None:
            timer.cancel()
        self._waiting[root] = asyncio.get_running_loop().call_later(PAUSE, self._begin, root)

    def forget(self) -> None:
        """Drops every project, because the settings changed."""
        for root in {*self._tasks, *self._indexes, *self._waiting, *self._outside, *self.known}:
            self.leave(root)

    def leave(self, root: Path) -> None:
        """Drops a project: ends its processes and discards their answers."""
        if (task := self._tasks.pop(root, None)) is not None:
            task.cancel()
        if (index := self._indexes.pop(root, None)) is not None:
            index.stop()
        if (timer := self._waiting.pop(root, None)) is not None:
            timer.cancel()
        if (index := self._outside.pop(root, None)) is not None:
            index.stop()
        self._answered.clear()
        self._changes.pop(root, None)
        self.known.pop(root, None)

    async def ask(self, root: Path, what: str, *arguments: Any) -> Any:
        """Returns an answer about a whole project.

        Raises:
            IndexFailed: there was no answer.
        """
        return await self._index_of(root).ask(what, *arguments, overlay=self._overlay(root))

    async def look_up(self, root: Path, dotted: str) -> Found | None:
        """Returns where an installed package defines a name; None if that is unknown or takes too long.

        The search runs in a separate process, so that it can be ended. In an untrusted workspace, nothing is
        looked up, because such a workspace must not determine what is read outside it.
        """
        if not self._session.trusted:
            return None
        if (root, dotted) not in self._answered:
            index = self._outside.setdefault(root, self._new_index(root))
            try:
                asked = index.ask("outside", dotted, overlay={})
                self._answered[root, dotted] = await asyncio.wait_for(asked, OUTSIDE_SECONDS)
            except (IndexFailed, asyncio.TimeoutError) as error:
                _log.warning("%s could not be looked up: %s", dotted, str(error) or "it took too long")
                return None
        return self._answered[root, dotted]

    def processes(self) -> dict[str, int]:
        """Returns the ids of the running processes, by project."""
        return {str(root): index.process_id for root, index in self._indexes.items() if index.process_id is not None}

    def _index_of(self, root: Path) -> Index:
        index = self._indexes.get(root)
        if index is None:
            index = self._indexes[root] = self._new_index(root)
        return index

    def _new_index(self, root: Path) -> Index:
        folder = self._session.folders[root]
        return Index(root, settings_for(folder), folder.jax.version)

    def _begin(self, root: Path) -> None:
        self._waiting.pop(root, None)
        if root in self._tasks or root not in self._session.folders:
            return
        self._follow(root, self._run(root))

    def _follow(self, root: Path, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[root] = asyncio.ensure_future(work)
        task.add_done_callback(lambda task: self._tasks.pop(root, None) if self._tasks.get(root) is task else None)

    async def _run(self, root: Path) -> None:
        index = self._index_of(root)
        try:
            async with working(self._session, f"Indexing {root.name}") as progress:
                overlay = self._overlay(root)
                if index.process_id is not None and (changes := self._changes.pop(root, None)):
                    await index.ask("changed", changes, overlay=overlay)
                self._changes.pop(root, None)
                self.known[root] = await index.ask("neighbours", overlay=overlay, progress=progress)
        except IndexFailed as error:
            _log.warning("%s could not be indexed: %s", root, error)
            return
        await self.settle(root)

    async def settle(self, root: Path) -> None:
        """Loads the files that matter to a project's open files, in small steps, and checks the open files again."""
        session = self._session
        if root not in self.known or root not in session.folders:
            return
        mine = self._open_in(root)
        near = self._near(root, mine)
        files = {Path(name) for one in near for name in one.files}
        read = await read_quietly(session, root, files)
        folder = with_folder_versions(session.folders[root], read)
        folder = replace(folder, workspace=folder.workspace.with_read(read))
        if self._open_in(root) != mine:
            session.put(folder)
            await self.settle(root)
            return
        roots = frozenset(key for one in near for key in one.roots)
        workspace = folder.workspace.without_files(unneeded(session, folder, files))
        session.put(replace(folder, workspace=workspace.with_focus(Focus(frozenset(map(str, mine)), roots))))
        for path in mine:
            session.touch(path)
        session.pull_again()

    def near(self, root: Path) -> set[Path]:
        """Returns the files that matter to the open files of a project, as far as the project has been read."""
        return {Path(name) for one in self._near(root, self._open_in(root)) for name in one.files}

    def _near(self, root: Path, paths: set[Path]) -> list[Neighbourhood]:
        known = self.known.get(root, {})
        return [known[str(path)] for path in paths if str(path) in known]

    def _open_in(self, root: Path) -> set[Path]:
        session = self._session
        return {one.path for one in session.documents.values() if session.folder_of(one.path).root == root}

    def _overlay(self, root: Path) -> dict[Path, bytes]:
        session = self._session
        found = {}
        for path in {document.path for document in session.documents.values()}:
            if path.is_relative_to(root) and session.folder_of(path).root == root:
                raw = raw_of(session, path)
                if raw is not None:
                    found[path] = raw
        return found
