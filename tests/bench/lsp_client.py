"""A language client for benchmarks: JSON-RPC by hand over two pipes, so that only the server is timed.

A sample is the time from just before the first byte of a request to the last byte of its answer; it does not include
the time in which the client decodes the answer.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"configuration": True, "workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "completion": {"completionItem": {"snippetSupport": True}},
        "hover": {"contentFormat": ["markdown"]},
        "codeAction": {
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "source"]}},
        },
    },
}


class ServerDied(Exception):
    """The server closed its stdout."""


@dataclass
class Client:
    """One server, with its root folder.

    Attributes:
        process: the server.
        started: when it was started.
        published: time, URI, version and findings of every publication.
        capabilities: the server's capabilities.
        progressing: tokens of the work in progress on the server.
    """

    process: subprocess.Popen[bytes]
    root: Path
    started: float
    published: list[tuple[float, str, int | None, list[Any]]] = field(default_factory=list)
    capabilities: dict[str, Any] = field(default_factory=dict)
    progressing: set[str] = field(default_factory=set)
    _buffer: bytearray = field(default_factory=bytearray)
    _answers: dict[int, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _last: int = 0

    def request(self, method: str, params: Any, before: Sequence[tuple[str, Any]] = ()) -> tuple[float, Any]:
        """Returns the seconds that an answer took, and the answer; `before` are notifications in the same write."""
        self._last += 1
        number = self._last
        messages = [{"method": name, "params": content} for name, content in before]
        sent = self._write(*messages, {"id": number, "method": method, "params": params})
        arrived, message = self.wait(lambda: self._answers.pop(number, None))
        return arrived - sent, message.get("result")

    def notify(self, method: str, params: Any) -> float:
        """Sends a notification; returns the time at which the write began."""
        return self._write({"method": method, "params": params})

    def diagnostics(self, sent: float, uri: str, version: int) -> float:
        """Returns the seconds until the findings of a version have come."""

        def found() -> float | None:
            for arrived, which, of, _ in reversed(self.published):
                if which == uri and arrived > sent and (of is None or of >= version):
                    return arrived - sent
            return None

        return self.wait(found)

    def wait(self, done: Callable[[], T | None], seconds: float = 60.0) -> T:
        """Reads until a condition returns a value.

        Raises:
            TimeoutError: the condition returned None until the time was up.
        """
        end = time.perf_counter() + seconds
        while (found := done()) is None:
            left = end - time.perf_counter()
            if left <= 0:
                raise TimeoutError("no answer")
            if select.select([self.process.stdout], [], [], left)[0]:
                self._read()
        return found

    def rest(self, seconds: float) -> None:
        """Reads until nothing has come for a while."""
        while select.select([self.process.stdout], [], [], seconds)[0]:
            self._read()

    def close(self) -> None:
        """Ends the server."""
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.process.wait(3)
        except (ServerDied, TimeoutError, BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
        self.process.wait()

    def _write(self, *messages: dict[str, Any]) -> float:
        out = bytearray()
        for message in messages:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            out += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        begun = time.perf_counter()
        assert self.process.stdin is not None
        self.process.stdin.write(out)
        self.process.stdin.flush()
        return begun

    def _read(self) -> None:
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        arrived = time.perf_counter()
        if not data:
            raise ServerDied(f"exit code {self.process.poll()}")
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(bytes(self._buffer[:end]))
            assert found is not None
            size = int(found[1])
            if len(self._buffer) < end + 4 + size:
                return
            message = json.loads(bytes(self._buffer[end + 4 : end + 4 + size]))
            del self._buffer[: end + 4 + size]
            self._take(arrived, message)

    def _take(self, arrived: float, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self._answers[message["id"]] = (arrived, message)
        elif "id" in message:
            items = params.get("items", ()) if isinstance(params, dict) else ()
            result = [None] * len(items) if method == "workspace/configuration" else None
            self._write({"id": message["id"], "result": result})
        elif method == "textDocument/publishDiagnostics":
            self.published.append((arrived, params["uri"], params.get("version"), params["diagnostics"]))
        elif method == "$/progress":
            kind = params["value"].get("kind")
            (self.progressing.discard if kind == "end" else self.progressing.add)(str(params["token"]))


def start(command: Sequence[str], root: Path) -> tuple[Client, float]:
    """Starts a server in a folder; returns its client and the seconds until it has answered `initialize`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root, bufsize=0
    )
    client = Client(process, root, began)
    params = {
        "processId": os.getpid(),
        "rootUri": root.as_uri(),
        "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
        "capabilities": CAPABILITIES,
    }
    _, result = client.request("initialize", params)
    took = time.perf_counter() - began
    client.capabilities = (result or {}).get("capabilities", {})
    client.notify("initialized", {})
    return client, took


def memory(process: int) -> float:
    """Returns the resident memory of a process and its children, in MiB; Linux only."""
    return sum(_from_proc(one, "status", "VmRSS:") for one in family(process))


def memories(process: int) -> str:
    """Returns the memory of a process and of each of its children: resident, and their proportional shares."""
    shown = []
    for number, one in enumerate(family(process)):
        name = "beside it" if number else "server"
        resident, own = _from_proc(one, "status", "VmRSS:"), _from_proc(one, "smaps_rollup", "Pss:")
        shown.append(f"{name} {resident:.0f} MiB resident, {own:.0f} proportional")
    return "; ".join(shown)


def family(process: int) -> list[int]:
    """Returns a process and all processes that it has started, in the order in which they began."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                children.setdefault(int(stat[stat.rindex(")") + 2 :].split()[1]), []).append(int(entry.name))
            except (OSError, ValueError):
                continue
    found, waiting = [], [process]
    while waiting:
        one = waiting.pop(0)
        found.append(one)
        waiting += sorted(children.get(one, []))
    return found


def _from_proc(process: int, file: str, key: str) -> float:
    """Returns a figure that the kernel reports for a process, in MiB; zero for a process that has ended."""
    try:
        lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024
