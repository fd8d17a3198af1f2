"""The server on a local port serves one client of the protocol, and no page in a browser."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_interpreters import program
from launched import SERVER
from ports import free_port

HELLO = {"processId": None, "rootUri": None, "capabilities": {}}


def framed(method: str, params: object, number: int | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    body = json.dumps(message if number is None else {**message, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    number = free_port()
    served = subprocess.Popen([sys.executable, *SERVER, "--tcp", str(number)], cwd=tmp_path)
    try:
        yield number
    finally:
        served.kill()
        served.wait()


def connected(port: int) -> socket.socket:
    until = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 30)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def test_a_client_is_answered_and_a_second_one_is_not(port: int):
    with connected(port) as first:
        first.sendall(framed("initialize", HELLO, 1))
        assert b'"capabilities"' in first.recv(1 << 16)
        with connected(port) as second:
            second.sendall(framed("initialize", HELLO, 1))
            assert second.recv(1 << 16) == b""
        first.sendall(framed("shutdown", None, 2))
        assert b'"id":2' in first.recv(1 << 16)


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script of other systems")
def test_a_page_in_a_browser_is_not_a_client(port: int, tmp_path: Path):
    """Tries a page, which can send any body to a local port, but only after HTTP headers."""
    caught = tmp_path / "caught"
    python = program(tmp_path / "python", f"#!/bin/sh\n: > '{caught}'\n")
    root = {"uri": tmp_path.as_uri(), "name": "x"}
    hello = {**HELLO, "rootUri": root["uri"], "workspaceFolders": [root], "initializationOptions": {"trusted": True}}
    hello["initializationOptions"] = {"trusted": True, "interpreter": python}
    asked = framed("meshlens/devices", {"uri": root["uri"], "refresh": True}, 2)
    body = b"\r\n\r\n".join([b"", framed("initialize", hello, 1) + framed("initialized", {}) + asked])
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with connected(port) as page:
        page.sendall(head.encode() + body)
        page.settimeout(30)
        said = b""
        try:
            while (piece := page.recv(1 << 16)) and b'"id":2' not in said:
                said += piece
        except (ConnectionResetError, TimeoutError):
            pass
    assert said == b""
    assert not caught.exists()
