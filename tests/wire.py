"""A plain client of the protocol, for any server and for many requests: dictionaries out, dictionaries in."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import meshlens

SECONDS = 60

CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "versionSupport": True},
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"snippetSupport": True}},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}},
            "isPreferredSupport": True,
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "definition": {"linkSupport": False},
    },
}


class Wire:
    """One server, which is started and initialized.

    Attributes:
        published: the newest diagnostics by URI.
        texts: the open texts by URI.
    """

    def __init__(self, command: Sequence[str], root: Path, options: Mapping[str, Any] | None = None) -> None:
        package = str(Path(meshlens.__file__).parents[1])
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": package}
        )
        self._root = root
        self._arrived: queue.Queue[Any] = queue.Queue()
        self._number = 0
        self.published: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        threading.Thread(target=self._listen, daemon=True).start()
        folder = {"uri": root.as_uri(), "name": root.name}
        params = {"processId": os.getpid(), "rootUri": root.as_uri(), "workspaceFolders": [folder]}
        self.server = self.ask(
            "initialize", {**params, "capabilities": CAPABILITIES, "initializationOptions": options or {}}
        )
        self.tell("initialized", {})

    def uri(self, name: str) -> str:
        """Returns the URI of a file of the folder; a name that is already a URI stays as it is."""
        return name if ":" in name else (self._root / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        """Opens a file, with its text on the disk if none is given; returns its URI."""
        uri = self.uri(name)
        self.texts[uri] = (self._root / name).read_text("utf-8") if text is None else text
        item = {"uri": uri, "languageId": "python", "version": 1, "text": self.texts[uri]}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, name: str, text: str, version: int) -> None:
        """Sends the whole new text of a file."""
        uri = self.uri(name)
        self.texts[uri] = text
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def place(self, name: str, text: str, shift: int = 0) -> dict[str, Any]:
        """Returns the parameters by which requests name the place where a text first occurs."""
        before = self.texts[self.uri(name)]
        before = before[: before.index(text) + shift]
        line = before.count("\n")
        column = len(before[before.rfind("\n") + 1 :].encode("utf-16-le")) // 2
        return {"textDocument": {"uri": self.uri(name)}, "position": {"line": line, "character": column}}

    def ask(self, method: str, params: Any) -> Any:
        """Returns the result of a request; an error from the server fails the test."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._next(SECONDS)
            if message.get("id") == self._number and "method" not in message:
                assert "error" not in message, f"{method}: {message['error']}"
                return message.get("result")

    def tell(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": params})

    def findings(self, name: str, source: str, count: int) -> list[dict[str, Any]]:
        """Returns the findings of one source in the diagnostics of a file, once there are `count`."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            items = self.published.get(self.uri(name))
            if items is not None:
                found = [one for one in items if one.get("source") == source]
                if len(found) == count:
                    return found
            self._next(end - time.monotonic())
        raise AssertionError(f"{name} has not got {count} findings: {self.published.get(self.uri(name))}")

    def close(self) -> int:
        """Ends the session; returns the exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self._process.wait(SECONDS)

    def kill(self) -> None:
        """Kills the process, if it still runs."""
        self._process.kill()
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _next(self, seconds: float) -> dict[str, Any]:
        message: dict[str, Any] | None = self._arrived.get(timeout=max(seconds, 0.01))
        assert message is not None, "the server ended"
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            asked = message["params"].get("items") if isinstance(message.get("params"), dict) else None
            self._send({"id": message["id"], "result": [None] * len(asked) if asked else None})
        return message

    def _listen(self) -> None:
        out = self._process.stdout
        assert out is not None
        while line := out.readline():
            size = 0
            while line.strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
                line = out.readline()
            self._arrived.put(json.loads(out.read(size)))
        self._arrived.put(None)


@contextmanager
def wire(command: Sequence[str], root: Path, options: Mapping[str, Any] | None = None) -> Iterator[Wire]:
    """Yields a server, which is killed afterwards."""
    made = Wire(command, root, options)
    try:
        yield made
    finally:
        made.kill()
