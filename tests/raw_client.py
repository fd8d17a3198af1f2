"""A client that writes bytes: for messages that no library would send, and for long runs that must not block."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import meshlens
from launched import SERVER

_PACKAGE = str(Path(meshlens.__file__).parents[1])
SECONDS = 60.0
PULLS: dict[str, Any] = {
    "textDocument": {"diagnostic": {}},
    "workspace": {"diagnostics": {"refreshSupport": True}},
}
"""The capabilities of a client that pulls diagnostics, and pulls them again when it is asked to."""


class Failed(Exception):
    """A request that was answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Server:
    """A real server on stdio, and the client's end of it.

    Attributes:
        process: the server's process.
        notified: the notifications that came, in order.
        asked: the methods of the requests that the server sent, in order.
        settings: the answer when the server asks for its settings.
    """

    def __init__(
        self,
        root: Path,
        code: Sequence[str] = SERVER,
        python: str = sys.executable,
        **environment: str,
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the server
        self.process = subprocess.Popen(
            [python, *code],
            cwd=root,
            env={**os.environ, "PYTHONPATH": _PACKAGE, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self.notified: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.settings: Any = None
        self._buffer = b""
        self._number = 0
        self._answers: dict[Any, dict[str, Any]] = {}

    @property
    def log(self) -> str:
        """Returns what the server has written to stderr.

        Reads at a given position: a seek would move the position where the server writes next, as both share one.
        """
        file = self._log.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")

    def raw(self, data: bytes) -> None:
        """Writes bytes, and meanwhile reads what comes, because a server whose output nobody reads blocks."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        into, out = self.process.stdin.fileno(), self.process.stdout
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([out.fileno()] if not out.closed else [], [into], [], SECONDS)
            if readable:
                self._buffer += os.read(out.fileno(), 1 << 20)
            if writable:
                view = view[os.write(into, view[: select.PIPE_BUF]) :]

    def send(self, message: Any) -> None:
        """Sends a message, well formed or not."""
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> int:
        """Sends a request and returns its number."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def answer(self, number: Any, seconds: float = SECONDS) -> Any:
        """Returns the answer to a request, once it has come.

        Raises:
            Failed: the answer is an error.
        """
        until = time.monotonic() + seconds
        while number not in self._answers:
            self._take(until)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def request(self, method: str, params: Any = None, seconds: float = SECONDS) -> Any:
        """Sends a request and returns the answer."""
        return self.answer(self.ask(method, params), seconds)

    def wait(self, method: str, after: int = 0, seconds: float = SECONDS) -> dict[str, Any]:
        """Returns the parameters of the first notification of a method, ignoring the first `after` notifications."""
        until = time.monotonic() + seconds
        while True:
            for one in self.notified[after:]:
                if one["method"] == method:
                    return one["params"]
            self._take(until)

    def until(self, holds: Callable[[], bool], seconds: float = SECONDS) -> None:
        """Reads messages until a condition holds.

        Raises:
            TimeoutError: the condition does not hold in time.
        """
        until = time.monotonic() + seconds
        while not holds():
            self._take(until)

    def settle(self, seconds: float = 0.3) -> None:
        """Reads messages for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                self._take(until)
            except TimeoutError:
                return

    def initialize(self, root: Path | None, capabilities: Any = None, **more: Any) -> Any:
        """Initializes the server for a folder."""
        folders = [{"uri": root.as_uri(), "name": root.name}] if root is not None else None
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri() if root is not None else None,
            "workspaceFolders": folders,
            "capabilities": capabilities or {},
            **more,
        }
        result = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        """Opens a text."""
        item = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, uri: str, version: int | None, *changes: Mapping[str, Any]) -> None:
        """Edits a text."""
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def findings(self, uri: str) -> list[dict[str, Any]]:
        """Pulls the diagnostics of a text."""
        report = self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        return list(report["items"])

    def _take(self, until: float) -> None:
        while (message := self._message()) is None:
            assert self.process.stdout is not None
            descriptor = self.process.stdout.fileno()
            if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(f"nothing came; the log says:\n{self.log[-2000:]}")
            data = os.read(descriptor, 1 << 20)
            if not data:
                raise EOFError(f"the server ended; the log says:\n{self.log[-2000:]}")
            self._buffer += data
        if "method" not in message:
            self._answers[message.get("id")] = message
        elif "id" not in message:
            self.notified.append(message)
        else:
            self.asked.append(message["method"])
            result = None
            if message["method"] == "workspace/configuration":
                result = [self._setting(item) for item in message["params"]["items"]]
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _setting(self, item: Mapping[str, Any]) -> Any:
        return self.settings(item.get("scopeUri")) if callable(self.settings) else self.settings

    def _message(self) -> Any:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return None
        size = int(head.split(b":")[1])
        if len(rest) < size:
            return None
        self._buffer = rest[size:]
        return json.loads(rest[:size])

    def stop(self) -> int:
        """Ends the server as the protocol prescribes and returns its exit code."""
        if self.process.poll() is None:
            try:
                self.request("shutdown")
                self.notify("exit")
                self.process.wait(SECONDS)
            except (OSError, EOFError, TimeoutError, Failed, subprocess.TimeoutExpired):
                self.process.kill()
        return self.close()

    def close(self) -> int:
        """Waits for the process to end, closes the pipes, and returns the exit code."""
        code = self.process.wait(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._log.close()
        return code


@contextmanager
def served(root: Path, capabilities: Any = None, **more: Any) -> Iterator[Server]:
    """Yields a server that has a folder open."""
    server = Server(root)
    try:
        server.initialize(root, capabilities, **more)
        yield server
    finally:
        server.stop()
