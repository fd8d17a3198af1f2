"""Sits between a real editor and the server, and records how the editor introduces itself.

recorder.py FILE COMMAND…    runs COMMAND on the same pipes; FILE gets the parameters of `initialize`
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO


def _first_message() -> tuple[bytes, bytes]:
    """Returns the first message on stdin as it came, and its body."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += os.read(0, 1)
    head = read.split(b"\r\n\r\n")[0].lower()
    size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    body = b""
    while len(body) < size:
        body += os.read(0, size - len(body))
    return read + body, body


def _pass_on(message: bytes, server: IO[bytes]) -> None:
    """Passes the input on to the server until either side is closed."""
    with suppress(OSError):
        while message:
            server.write(message)
            server.flush()
            message = os.read(0, 1 << 16)
        server.close()


def main(file: str, *command: str) -> int:
    """Records, passes the rest on, and ends when the server does."""
    message, body = _first_message()
    Path(file).write_bytes(body)
    server = subprocess.Popen(command, stdin=subprocess.PIPE)
    threading.Thread(target=_pass_on, args=(message, server.stdin), daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    # The thread may be blocked in a read forever.
    os._exit(main(*sys.argv[1:]))
