"""Tells the client that something takes a while, where it shows such a thing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count

from meshlens.lsp.session import Session

_NUMBERS = count(1)


@contextmanager
def reporting(session: Session, token: object, title: str) -> Iterator[Callable[[str], None]]:
    """Shows progress under a token that the client gave with its request; says nothing where it gave none.

    Args:
        session: who to tell.
        token: the client's.
        title: what is being done.
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
    """Shows progress while its body runs, and cancels the body when the person at the editor says so.

    Args:
        session: who to tell.
        title: what is being done.

    Yields:
        A function that says how far it has come.
    """
    if not session.client.progresses:
        yield lambda text: None
        return
    token = f"meshlens-progress-{next(_NUMBERS)}"
    try:
        await session.ask("window/workDoneProgress/create", {"token": token})
    except Exception:  # a client that will not show it
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
