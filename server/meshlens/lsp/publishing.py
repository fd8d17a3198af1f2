"""Schedules the computation and sending of findings: after all received messages, and only for the newest text."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import diagnostics

LATER = 0.15
"""Seconds without a keystroke before the other open files of a project are checked again."""


class Publisher:
    """Sends findings to clients, or asks those that pull findings to do so."""

    def __init__(self, session: Session, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._loop = session, loop
        self._soon: asyncio.Handle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._again: asyncio.TimerHandle | None = None
        self._sent: dict[str, tuple[int | None, list[dict[str, Any]]]] = {}

    def schedule(self) -> None:
        """Schedules the findings of changed files to be sent as soon as the loop is free."""
        if self._soon is None:
            self._soon = self._loop.call_soon(self._now)

    def publish(self) -> None:
        """Sends scheduled findings immediately."""
        if self._soon is not None:
            self._soon.cancel()
            self._now()

    def pull_again(self) -> None:
        """Asks a client that pulls diagnostics to pull soon."""
        if self._session.client.pulls and self._again is None:
            self._again = self._loop.call_later(LATER, self._ask_to_pull)

    def _now(self) -> None:
        """Sends the findings of the changed file; the others wait until typing stops."""
        self._soon = None
        session = self._session
        if not session.dirty:
            return
        # A client that pulls may have already requested the findings of the current text.
        first = session.typed if session.client.pulls else next(iter(session.dirty))
        session.typed = None
        if first is not None:
            session.dirty.pop(first, None)
            self._send(first)
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        if session.dirty:
            self._rest = self._loop.call_later(LATER, self._others)

    def _others(self) -> None:
        self._rest = None
        session = self._session
        if session.client.pulls:
            session.dirty.clear()
            self._ask_to_pull()
            return
        if not session.dirty:
            return
        path = next(iter(session.dirty))
        session.dirty.pop(path)
        self._send(path)
        if session.dirty:
            # One file at a time, so that a keystroke never waits for more than one.
            self._rest = self._loop.call_later(0, self._others)

    def _ask_to_pull(self) -> None:
        self._again = None
        self._session.ask("workspace/diagnostic/refresh", None)

    def _send(self, path: Path) -> None:
        if self._session.client.pulls:
            return
        for document in self._session.texts(path):
            items = diagnostics(self._session, document)
            if self._sent.get(document.uri) == (document.version, items):
                continue
            self._sent[document.uri] = (document.version, items)
            made: dict[str, Any] = {"uri": document.uri, "diagnostics": items}
            if document.version is not None:
                made["version"] = document.version
            self._session.notify("textDocument/publishDiagnostics", made)

    def clear(self, uri: str) -> None:
        """Clears the findings sent for a closed document."""
        if self._sent.pop(uri, None) is not None:
            self._session.notify("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": []})
