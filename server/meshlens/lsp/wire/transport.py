"""Reads messages from stdin and writes them to stdout, without a thread or executor if the system allows it.

pygls reads each header line through an executor; that alone uses up about the whole time budget of a keystroke.
"""

from __future__ import annotations

import asyncio
import json
import logging
import select
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from meshlens.lsp.wire.framing import Framing
from meshlens.lsp.wire.pipe import received

_MOST_AT_ONCE = 1 << 24

_log = logging.getLogger("meshlens")


def encoded(message: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Returns a message with its header.

    Args:
        message: the message to encode as JSON.
        default: converts values that JSON does not support.
    """
    body = json.dumps(message, default=default, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


async def read_pipe(descriptor: int, take: Callable[[list[bytes]], None], framing: Framing) -> None:
    """Reads a pipe until its end.

    Args:
        descriptor: the pipe.
        take: called with the bodies of all messages that arrived together.
        framing: splits the bytes into messages; must be the object that split any bytes already read from the pipe.
    """
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def arrived(data: bytes, *, last: bool) -> None:
        bodies = list(framing.feed(data))
        if bodies:
            take(bodies)
        if last and not ended.done():
            ended.set_result(None)

    def readable() -> None:
        data = received(descriptor)
        last = not data
        while not last and len(data) < _MOST_AT_ONCE and _more(descriptor):
            more = received(descriptor)
            last = not more
            data += more
        arrived(data, last=last)

    try:
        loop.add_reader(descriptor, readable)
    except (NotImplementedError, OSError, ValueError):
        # The loop cannot wait for pipes on Windows, or for regular files.
        _read_in_thread(descriptor, loop, arrived)
        await ended
        return
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)


def _more(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def _read_in_thread(descriptor: int, loop: asyncio.AbstractEventLoop, arrived: Callable[..., None]) -> None:
    def read() -> None:
        data = b"-"
        while data:
            data = received(descriptor)
            try:
                loop.call_soon_threadsafe(partial(arrived, data, last=not data))
            except RuntimeError:
                return

    threading.Thread(target=read, daemon=True, name="stdin").start()
