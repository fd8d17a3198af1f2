"""Reads messages from stdin and writes them to stdout, without a thread or executor if the system allows it.

pygls reads each header line through an executor, which takes about as long as handling a whole keystroke should.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import select
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

_LENGTH = re.compile(rb"^content-length:[ \t]*0*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_END_OF_HEADER = b"\r\n\r\n"
_LONGEST = 1 << 28
_LONGEST_HEADER = 1 << 14
_CHUNK = 1 << 20
_MOST_AT_ONCE = 1 << 24
_NO_MESSAGE = "skipped %d bytes that are not a message"

_log = logging.getLogger("meshlens")


class Framing:
    """Splits a stream of bytes into the bodies of messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Takes the next bytes and yields every complete body.

        Logs and skips a header without a valid length, and a header that does not end.
        """
        self._buffer += data
        while True:
            if self._body is None:
                end = self._buffer.find(_END_OF_HEADER)
                if end < 0:
                    if len(self._buffer) > _LONGEST_HEADER:
                        _log.warning(_NO_MESSAGE, len(self._buffer))
                        # The last bytes may be the start of a header's end.
                        del self._buffer[: -len(_END_OF_HEADER)]
                    return
                header = bytes(self._buffer[:end])
                del self._buffer[: end + len(_END_OF_HEADER)]
                if end > _LONGEST_HEADER:
                    _log.warning(_NO_MESSAGE, end)
                    continue
                found = _LENGTH.search(header)
                if found is None or int(found[1]) > _LONGEST:
                    _log.warning("skipped a message without a usable Content-Length")
                    continue
                self._body = int(found[1])
            if len(self._buffer) < self._body:
                return
            body = bytes(self._buffer[: self._body])
            del self._buffer[: self._body]
            self._body = None
            yield body


def encoded(message: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Returns a message with its header.

    Args:
        message: the message to encode as JSON.
        default: converts values that JSON does not support.
    """
    body = json.dumps(message, default=default, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


async def read_pipe(descriptor: int, take: Callable[[list[bytes]], None], begun: bytes) -> None:
    """Reads a pipe until its end.

    Args:
        descriptor: the pipe.
        take: called with the bodies of all messages that arrived together.
        begun: the bytes that were already read from the pipe.
    """
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    framing = Framing()

    def arrived(data: bytes, *, last: bool) -> None:
        bodies = list(framing.feed(data))
        if bodies:
            take(bodies)
        if last and not ended.done():
            ended.set_result(None)

    def readable() -> None:
        data = _read(descriptor)
        last = not data
        while not last and len(data) < _MOST_AT_ONCE and _more(descriptor):
            more = _read(descriptor)
            last = not more
            data += more
        arrived(data, last=last)

    arrived(begun, last=False)
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


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def _more(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def _read_in_thread(descriptor: int, loop: asyncio.AbstractEventLoop, arrived: Callable[..., None]) -> None:
    def read() -> None:
        data = b"-"
        while data:
            data = _read(descriptor)
            try:
                loop.call_soon_threadsafe(partial(arrived, data, last=not data))
            except RuntimeError:
                return

    threading.Thread(target=read, daemon=True, name="stdin").start()
