"""The answer to `initialize` is sent before pygls is imported, and is the one that pygls would send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from meshlens.lsp.server import make_server
from meshlens.lsp.wire.capabilities import offered

RECORDED = {
    path.stem: json.loads(path.read_text("utf-8")) for path in (Path(__file__).parents[1] / "recordings").glob("*.json")
}
CLIENTS = {
    **RECORDED,
    "says nothing": {"capabilities": {}},
    "lists encodings that nobody knows": {"capabilities": {"general": {"positionEncodings": ["utf-7"]}}},
    "prefers utf-32": {"capabilities": {"general": {"positionEncodings": ["utf-32", "utf-8"]}}},
    "pulls": {
        "capabilities": {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}
    },
    "colors axes": {"capabilities": {}, "initializationOptions": {"axisColors": True}},
    "has notebooks": {"capabilities": {"notebookDocument": {"synchronization": {}}}},
}


class _Kept:
    """Keeps what is written to the client."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        """Does nothing, as there is nothing to close."""


def _of_pygls(params: dict[str, Any]) -> Any:
    server, kept = make_server(), _Kept()
    server.protocol.set_writer(kept)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    server.protocol.take([json.dumps(message).encode()])
    capabilities = json.loads(kept.data.partition(b"\r\n\r\n")[2])["result"]["capabilities"]
    # pygls lists as false what this server does not ask for; leaving it out means the same.
    synchronized = capabilities["textDocumentSync"]
    capabilities["textDocumentSync"] = {key: value for key, value in synchronized.items() if value is not False}
    return capabilities


@pytest.mark.parametrize("name", CLIENTS)
def test_it_is_the_answer_of_pygls(name: str) -> None:
    params = {"processId": None, "rootUri": None, **CLIENTS[name]}
    assert json.loads(json.dumps(offered(params))) == _of_pygls(params)
