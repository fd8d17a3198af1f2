"""Reports the progress of slow work to clients that show it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count

from meshlens.lsp.session import Session

_NUMBERS = count(1)


@contextmanager
def reporting(session: Session, token: object, title: str) -> Iterator[Callable[[str], None]]:
    """Reports progress under the token of a client's request; does nothing without a token.

    Args:
        session: the session.
        token: the client's token.
        title: a description of the work.
    """
    if token is None:
        yield lambda text: None
        return

    def tell(kind: str, **content: object) -> None:
        session.notify("$/progress", {"token": token, "value": {"kind": kind, **content}})

    tell("begin", title=title)
    try:
        yield lambda text: tell("report", message=text)
    finally:
        tell("end")


@asynccontextmanager
async def working(session: Session, title: str) -> AsyncIterator[Callable[[str], None]]:
    """Reports progress while the block runs, and cancels the block if the user cancels.

    Args:
        session: the session.
        title: a description of the work.

    Yields:
        A function that reports the progress.
    """
    if not session.client.progresses:
        yield lambda text: None
        return
    token = f"meshlens-progress-{next(_NUMBERS)}"
    try:
        await session.ask("window/workDoneProgress/create", {"token": token})
    except Exception:  # The client refuses to show the progress.
        yield lambda text: None
        return

    def tell(kind: str, **content: object) -> None:
        session.notify("$/progress", {"token": token, "value": {"kind": kind, **content}})

    task = asyncio.current_task()
    if task is not None:
        session.cancellable[token] = task
    tell("begin", title=title, cancellable=True)
    try:
        yield lambda text: tell("report", message=text)
    finally:
        session.cancellable.pop(token, None)
        tell("end")
