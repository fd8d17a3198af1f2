"""Answers `initialize` before most of the server is imported, because the client waits for the answer.

Importing the rest takes four times as long as starting Python; meanwhile the client reads the answer and opens files.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import meshlens
from meshlens.lsp.wire.capabilities import offered
from meshlens.lsp.wire.pipe import PipeWriter, claim_stdout

_END_OF_HEADER = b"\r\n\r\n"
_LENGTH = b"content-length:"
_CHUNK = 1 << 16
_LONGEST = 1 << 22


class Begun(NamedTuple):
    """A connection whose first message has arrived.

    Attributes:
        writer: writes to the client.
        data: all bytes that were read so far, beginning with that message.
        answered: the id of the `initialize` request that was answered; None if the message is anything else.
    """

    writer: PipeWriter
    data: bytes
    answered: int | str | None


def begin() -> Begun:
    """Waits for the first message on stdin, answers it if possible, and returns the connection."""
    writer = claim_stdout()
    data = b""
    while (missing := _missing(data)) is None or missing > 0:
        more = _read()
        data += more
        if not more or len(data) > _LONGEST:
            return Begun(writer, data, None)
    message = _message(data)
    if message is None:
        return Begun(writer, data, None)
    info = {"name": "meshlens", "version": meshlens.__version__}
    result = {"capabilities": offered(message["params"]), "serverInfo": info}
    answer = json.dumps({"id": message["id"], "jsonrpc": "2.0", "result": result}).encode()
    writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
    return Begun(writer, data, message["id"])


def _read() -> bytes:
    try:
        return os.read(0, _CHUNK)
    except OSError:
        return b""


def _missing(data: bytes) -> int | None:
    """Returns how many bytes of the first message are missing; None if the header is incomplete, 0 if malformed."""
    header, end, body = data.partition(_END_OF_HEADER)
    if not end:
        return None
    length = _length(header)
    return length - len(body) if length is not None else 0


def _length(header: bytes) -> int | None:
    lines = [line[len(_LENGTH) :].strip() for line in header.split(b"\r\n") if line.lower().startswith(_LENGTH)]
    return int(lines[0]) if len(lines) == 1 and lines[0].isdigit() and len(lines[0]) < 9 else None


def _message(data: bytes) -> dict[str, Any] | None:
    """Returns the first message if it is a request to initialize that can be answered immediately; otherwise None."""
    header, _, body = data.partition(_END_OF_HEADER)
    length = _length(header)
    if length is None:
        return None
    try:
        message = json.loads(body[:length])
    except (ValueError, RecursionError):
        return None
    is_asked = isinstance(message, dict) and message.get("method") == "initialize"
    if not is_asked or not isinstance(message.get("id"), (int, str)) or not isinstance(message.get("params"), dict):
        return None
    given = message["params"]
    # pygls says what is wrong with anything else.
    is_right = isinstance(given.get("capabilities"), dict) and isinstance(given.get("processId"), (int, type(None)))
    return message if is_right else None
