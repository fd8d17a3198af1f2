"""Detects file changes by other programs, for clients that cannot watch files, such as Neovim on Linux."""

from __future__ import annotations

import asyncio
from pathlib import Path

from meshlens.lsp.handlers.watched_files import DELETED, did_change_watched_files
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import is_nowhere, uri_of
from meshlens.project.settings.configuration import OWN_FILE, SHARED_FILE

SECONDS = 2.0
"""Seconds from a client message until files are checked for changes."""

_CREATED, _CHANGED = 1, 2
_Stamp = tuple[int, int] | None


class Looking:
    """Compares the times and sizes of relevant files with the last known ones, while the client is active."""

    def __init__(self, session: Session, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._loop = session, loop
        self._timer: asyncio.TimerHandle | None = None
        self._known: dict[Path, _Stamp] = {}

    def worked(self) -> None:
        """Notes that a message was handled."""
        if self._timer is None:
            self._timer = self._loop.call_later(SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        known = self._known
        self._known = self._stamps(known)
        changed = {path: stamp for path, stamp in self._known.items() if path in known and known[path] != stamp}
        changes = [{"uri": uri_of(path), "type": _how(known[path], stamp)} for path, stamp in changed.items()]
        if changes:
            did_change_watched_files(self._session, {"changes": changes})

    def _stamps(self, known: dict[Path, _Stamp]) -> dict[Path, _Stamp]:
        """Returns the stamps of loaded files that are not open and of configuration files; None for a missing file."""
        found: dict[Path, _Stamp] = {}
        for root, folder in self._session.folders.items():
            if is_nowhere(root):
                continue
            for path in (root / OWN_FILE, root / SHARED_FILE):
                found[path] = _stamp(path)
                if path not in known and folder.configuration.path is None:
                    # The file did not exist when the project was opened.
                    known[path] = None
            for name in folder.workspace.files:
                path = Path(name)
                if not self._session.is_open(path):
                    found[path] = _stamp(path)
        return found


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _how(before: _Stamp, now: _Stamp) -> int:
    if now is None:
        return DELETED
    return _CREATED if before is None else _CHANGED
