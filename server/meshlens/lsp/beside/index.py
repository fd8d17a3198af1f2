"""Starts, queries and ends the helper process."""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from meshlens.devices.processes import is_stopped
from meshlens.launching import isolated
from meshlens.lsp.beside.aside import ANSWER, HEADER, LAST, PROGRESS
from meshlens.settings import Settings

IDLE_SECONDS = 20.0
"""Seconds that the process lives after its last answer; short, because it holds the whole project in memory."""

LOOK_SECONDS = 0.5
"""Seconds between checks that the process is alive."""

STOPPED_SECONDS = 5.0
"""Seconds that a signal may suspend the process before it is abandoned."""
_MOST_SOLVED = 40
"""Number of times that a process solves its project before it is replaced, in case it cannot measure its memory use."""

_log = logging.getLogger("meshlens")


class IndexFailed(Exception):
    """Raised if the process could not answer; the text is the reason."""


class Index:
    """The helper process of one project."""

    def __init__(self, root: Path, settings: Settings, version: tuple[int, ...]) -> None:
        self._project = (root, settings, version)
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._end: asyncio.TimerHandle | None = None
        self._solved = 0

    async def ask(
        self,
        what: str,
        *arguments: Any,
        overlay: Mapping[Path, bytes],
        progress: Callable[[str], None] = lambda text: None,
    ) -> Any:
        """Returns the answer of the process, starting it if necessary; handles one request at a time.

        Args:
            what: the kind of request, a key in the process's table of functions.
            arguments: the arguments of that function.
            overlay: the open documents.
            progress: called with messages about the process's progress.

        Raises:
            IndexFailed: there was no answer.
        """
        async with self._lock:
            if self._end is not None:
                self._end.cancel()
            process = await self._started()
            is_last = False
            question = {"what": what, "arguments": arguments, "overlay": dict(overlay), "project": self._project}
            try:
                try:
                    answer, is_last = await _answer_unless_stopped(process, question, progress)
                except (OSError, asyncio.IncompleteReadError):
                    if self._process is process:
                        raise
                    # The settings changed meanwhile, so the process was ended; ask its successor.
                    answer, is_last = await _answer_unless_stopped(await self._started(), question, progress)
                self._solved += what == "neighbours"
                return answer
            except (OSError, EOFError, asyncio.IncompleteReadError) as error:
                self.stop()
                raise IndexFailed(f"the server's helper process ended: {error}") from error
            except asyncio.CancelledError:
                # If the process went on, its answer would be mistaken for the answer to the next request.
                self.stop()
                raise
            finally:
                self._end = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.stop)
                if is_last or self._solved >= _MOST_SOLVED:
                    self.stop()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *isolated("from meshlens.lsp.beside.aside import main; main()"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=1 << 24,
            )
        return self._process

    @property
    def process_id(self) -> int | None:
        """Returns the id of the process, if it is running."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    def stop(self) -> None:
        """Ends the process; the next request starts a new one."""
        if self._end is not None:
            self._end.cancel()
            self._end = None
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None
        self._solved = 0


async def _answer_unless_stopped(
    process: asyncio.subprocess.Process, question: Any, progress: Callable[[str], None]
) -> tuple[Any, bool]:
    """Returns the answer, however long it takes, and whether it is the last one from this process.

    Raises:
        EOFError: a signal has suspended the process for too long; it would never answer or end by itself.
    """
    answer = asyncio.ensure_future(_answer(process, question, progress))
    halted = 0.0
    try:
        while not (await asyncio.wait((answer,), timeout=LOOK_SECONDS))[0]:
            halted = halted + LOOK_SECONDS if is_stopped(process.pid) else 0.0
            if halted >= STOPPED_SECONDS:
                raise EOFError("it was suspended by a signal")
        return answer.result()
    finally:
        answer.cancel()


async def _answer(
    process: asyncio.subprocess.Process, question: Any, progress: Callable[[str], None]
) -> tuple[Any, bool]:
    assert process.stdin is not None
    assert process.stdout is not None
    body = pickle.dumps(question, protocol=pickle.HIGHEST_PROTOCOL)
    process.stdin.write(HEADER.pack(ANSWER, len(body)) + body)
    await process.stdin.drain()
    while True:
        kind, size = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
        content = pickle.loads(await process.stdout.readexactly(size))
        if kind in (ANSWER, LAST):
            return content, kind == LAST
        if kind != PROGRESS:
            raise IndexFailed(str(content))
        progress(content)
