"""Splits the bytes of a connection into messages; needed to answer the first message, so it imports little."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LENGTH = re.compile(rb"^content-length:[ \t]*0*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_END_OF_HEADER = b"\r\n\r\n"
_LONGEST = 1 << 28
_LONGEST_HEADER = 1 << 14
_NO_MESSAGE = "skipped %d bytes that are not a message"


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
                        _warn(_NO_MESSAGE, len(self._buffer))
                        # The last bytes may be the start of a header's end.
                        del self._buffer[: -len(_END_OF_HEADER)]
                    return
                header = bytes(self._buffer[:end])
                del self._buffer[: end + len(_END_OF_HEADER)]
                if end > _LONGEST_HEADER:
                    _warn(_NO_MESSAGE, end)
                    continue
                found = _LENGTH.search(header)
                if found is None or int(found[1]) > _LONGEST:
                    _warn("skipped a message without a usable Content-Length")
                    continue
                self._body = int(found[1])
            if len(self._buffer) < self._body:
                return
            body = bytes(self._buffer[: self._body])
            del self._buffer[: self._body]
            self._body = None
            yield body


def _warn(text: str, *values: object) -> None:
    import logging

    logging.getLogger("meshlens").warning(text, *values)
