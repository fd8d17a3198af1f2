"""Answers `initialize` before most of the server is imported, because the client waits for the answer.

Importing the rest takes four times as long as starting Python; meanwhile the client reads the answer and opens files.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import meshlens
from meshlens.lsp.wire.capabilities import offered
from meshlens.lsp.wire.framing import Framing
from meshlens.lsp.wire.pipe import PipeWriter, claim_stdout, received


class Begun(NamedTuple):
    """A connection whose first message has arrived.

    Attributes:
        writer: writes to the client.
        framing: splits what the client sends.
        bodies: the messages that arrived first; none if the client sent none.
        answered: the id of the `initialize` request that was answered; None if the first message is anything else.
    """

    writer: PipeWriter
    framing: Framing
    bodies: list[bytes]
    answered: int | str | None


def begin() -> Begun:
    """Waits for the first message on stdin, answers it if possible, and returns the connection."""
    writer, framing = claim_stdout(), Framing()
    bodies: list[bytes] = []
    while not bodies and (data := received(0)):
        bodies = list(framing.feed(data))
    message = _message(bodies[0]) if bodies else None
    if message is None:
        return Begun(writer, framing, bodies, None)
    info = {"name": "meshlens", "version": meshlens.__version__}
    result = {"capabilities": offered(message["params"]), "serverInfo": info}
    answer = json.dumps({"id": message["id"], "jsonrpc": "2.0", "result": result}).encode()
    writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
    return Begun(writer, framing, bodies, message["id"])


def _message(body: bytes) -> dict[str, Any] | None:
    """Returns a message if it is a request to initialize that can be answered immediately; otherwise None."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    is_asked = isinstance(message, dict) and message.get("method") == "initialize"
    if not is_asked or not isinstance(message.get("id"), (int, str)) or not isinstance(message.get("params"), dict):
        return None
    given = message["params"]
    # pygls says what is wrong with anything else.
    is_right = isinstance(given.get("capabilities"), dict) and isinstance(given.get("processId"), (int, type(None)))
    return message if is_right else None
