"""A message that is broken, unknown, too early or too late costs only itself, and is noted in the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raw_client import PULLS, SECONDS, Failed, Server, served

pytestmark = pytest.mark.slow

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002
CLIENT = {**PULLS, "general": {"positionEncodings": ["utf-16"]}}
WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yields one server for everything that a server has to survive."""
    with served(tmp_path_factory.mktemp("open"), CLIENT) as one:
        yield one
        assert "Traceback" not in one.log and "crashed" not in one.log


def _still_right(server: Server, root: Path) -> None:
    uri = (root / "train.py").as_uri()
    server.open(uri, WRONG)
    assert [found["code"] for found in server.findings(uri)] == ["AX101"]
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def _refused(server: Server, method: str, params: Any) -> int:
    with pytest.raises(Failed) as failed:
        server.request(method, params)
    return int(failed.value.code)


def _answer_or_code(server: Server, method: str, params: Any) -> Any:
    try:
        return server.request(method, params)
    except Failed as error:
        return error.code


@pytest.mark.parametrize(
    "body",
    [b'{"jsonrpc": "2.0", "id": 1, "method": ', b"", b"\xff\xfe{}", b"[" * 100_000, b'{"a": NaN}}'],
    ids=["cut off", "empty", "not UTF-8", "deep", "too many brackets"],
)
def test_what_is_not_json(server: Server, tmp_path: Path, body: bytes):
    server.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    with pytest.raises(Failed) as failed:
        server.answer(None)
    assert failed.value.code == PARSE_ERROR
    _still_right(server, tmp_path)
    assert "skipped a message that is not JSON" in server.log


def test_headers_that_say_nothing(server: Server, tmp_path: Path):
    server.raw(b"Content-Type: application/json\r\n\r\n")
    server.raw(b"Content-Length: many\r\n\r\n")
    server.raw(b"Content-Length: 99999999999\r\n\r\n")
    body = b'{"jsonrpc":"2.0","method":"$/ours","params":{}}'
    server.raw(b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(body))
    server.raw(body)
    _still_right(server, tmp_path)
    assert server.log.count("skipped a message without a usable Content-Length") == 3


def test_a_length_of_many_digits_costs_its_own_message_alone(server: Server, tmp_path: Path):
    """Sends more digits than Python converts to a number, and a header that does not end."""
    before = server.log.count("skipped a message without a usable Content-Length")
    uri = (tmp_path / "train.py").as_uri()
    server.raw(b"Content-Length: %s\r\n\r\n" % (b"9" * 5000))
    # Sent in the same write, as a client's pipe may deliver it: what comes after the bad message is answered at once.
    number = server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    assert server.answer(number) is None
    server.raw(b"Content-Length: %s2\r\n\r\n[]" % (b"0" * 5000))
    with pytest.raises(Failed):
        server.answer(None)
    server.raw(b"x" * 3_000_000 + b"\r\n\r\n")
    _still_right(server, tmp_path)
    assert server.log.count("skipped a message without a usable Content-Length") > before
    assert "that are not a message" in server.log


@pytest.mark.parametrize(
    "name",
    ["n" * 256 + ".py", "ü" * 200 + ".py", "a/" * 2500 + "b.py", "a/" * 200_000 + "b.py", "n" * 400_000 + ".py"],
    ids=["name", "bytes of a name", "path", "deep", "long"],
)
def test_names_that_no_file_can_have(server: Server, tmp_path: Path, name: str):
    """Checks that the text is read as one without a file, and that other requests are answered."""
    uri = f"{tmp_path.as_uri()}/{name}"
    server.open(uri, WRONG)
    assert [found["code"] for found in server.findings(uri)] == ["AX101"]
    place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 12}}
    assert server.request("textDocument/hover", place) is not None
    assert server.request("workspace/symbol", {"query": ""}) is not None
    server.request("meshlens/devices", {"uri": uri})
    server.request("meshlens/meshes", {"textDocument": {"uri": uri}})
    server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    server.notify("meshlens/didChangeInterpreter", {"uri": uri, "interpreter": None})
    _still_right(server, tmp_path)
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


@pytest.mark.parametrize("message", [[], 3, "text", None, True])
def test_what_is_no_message(server: Server, tmp_path: Path, message: Any):
    server.send(message)
    with pytest.raises(Failed) as failed:
        server.answer(None)
    assert failed.value.code == INVALID_REQUEST
    _still_right(server, tmp_path)


def test_unknown_methods(server: Server, tmp_path: Path):
    assert _refused(server, "textDocument/somethingNew", {}) == METHOD_NOT_FOUND
    assert _refused(server, "$/somethingNew", {}) == METHOD_NOT_FOUND
    for _ in range(3):
        server.notify("textDocument/didSomethingNew", {"textDocument": {"uri": "file:///a.py"}})
        server.notify("$/setTrace", {"value": "off"})
        server.notify("$/optional", {})
    _still_right(server, tmp_path)
    assert server.log.count("textDocument/didSomethingNew") == 1
    assert "$/optional" not in server.log


POSITION = {"line": 0, "character": 0}
WRONG_PARAMETERS: list[tuple[str, Any]] = [
    ("textDocument/hover", None),
    ("textDocument/hover", []),
    ("textDocument/hover", {"textDocument": {"uri": 3}, "position": POSITION}),
    ("textDocument/hover", {"textDocument": "file:///a.py", "position": POSITION}),
    ("textDocument/hover", {"textDocument": {"uri": "OPEN"}, "position": {"line": "one", "character": 0}}),
    ("textDocument/hover", {"textDocument": {"uri": "OPEN"}}),
    ("textDocument/completion", {"textDocument": {"uri": "OPEN"}, "position": [0, 0]}),
    ("textDocument/codeAction", {"textDocument": {"uri": "OPEN"}, "range": None, "context": 5}),
    ("textDocument/codeAction", {"textDocument": {"uri": "OPEN"}, "range": {"start": POSITION}}),
    ("codeAction/resolve", "resolve"),
    ("textDocument/rename", {"textDocument": {"uri": "OPEN"}, "position": {"line": 2, "character": 45}}),
    ("workspace/symbol", {"query": 7}),
    ("workspace/executeCommand", {"command": "meshlens.unknown"}),
    ("callHierarchy/incomingCalls", {"item": {"name": "x"}}),
    ("textDocument/diagnostic", {}),
]


@pytest.mark.parametrize(("method", "params"), WRONG_PARAMETERS)
def test_parameters_of_the_wrong_kind(server: Server, tmp_path: Path, method: str, params: Any):
    uri = (tmp_path / "open.py").as_uri()
    server.open(uri, WRONG)
    filled = json.loads(json.dumps(params).replace("OPEN", uri))
    assert _answer_or_code(server, method, filled) in (None, [], INVALID_PARAMS, INVALID_REQUEST)
    _still_right(server, tmp_path)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didOpen", {}),
        ("textDocument/didOpen", {"textDocument": {"uri": None, "text": 3}}),
        ("textDocument/didChange", {"textDocument": {"uri": "OPEN", "version": 2}, "contentChanges": "x"}),
        ("textDocument/didChange", {"textDocument": {"uri": "OPEN"}, "contentChanges": [{"range": 3, "text": ""}]}),
        ("textDocument/didClose", {"textDocument": []}),
        ("notebookDocument/didOpen", {"notebookDocument": {"uri": "file:///x.ipynb", "cells": [3]}}),
        ("notebookDocument/didChange", {"notebookDocument": {"uri": "file:///x.ipynb"}, "change": []}),
        ("workspace/didChangeConfiguration", {"settings": "loud"}),
        ("workspace/didChangeConfiguration", {"settings": {"meshlens": 3}}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"type": 2}]}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": ["file:///x"]}}),
        ("window/workDoneProgress/cancel", {"token": {}}),
        ("$/cancelRequest", {"id": {}}),
        ("$/cancelRequest", []),
    ],
)
def test_notifications_of_the_wrong_kind(server: Server, tmp_path: Path, method: str, params: Any):
    uri = (tmp_path / "open.py").as_uri()
    server.open(uri, WRONG)
    server.notify(method, json.loads(json.dumps(params).replace("OPEN", uri)))
    assert [found["code"] for found in server.findings(uri)] == ["AX101"]
    _still_right(server, tmp_path)


def test_before_initialize_and_after_shutdown(tmp_path: Path):
    server = Server(tmp_path)
    try:
        hover = {"textDocument": {"uri": "file:///a.py"}, "position": POSITION}
        assert _refused(server, "textDocument/hover", hover) == NOT_INITIALIZED
        server.open((tmp_path / "early.py").as_uri(), WRONG)
        assert not server.notified
        server.initialize(tmp_path, CLIENT)
        _still_right(server, tmp_path)
        server.request("shutdown")
        assert _refused(server, "textDocument/hover", hover) == INVALID_REQUEST
        server.notify("exit")
        assert server.process.wait(SECONDS) == 0
    finally:
        server.stop()


def test_exit_without_shutdown_is_an_error_and_an_end(tmp_path: Path):
    server = Server(tmp_path)
    server.initialize(tmp_path, CLIENT)
    server.notify("exit")
    assert server.process.wait(SECONDS) == 1
    server.close()
