"""Dispatches messages: plain dictionaries for our handlers, pygls for the life cycle of the connection.

pygls handles `shutdown`, `exit` and progress, and answers `initialize` if `first_message` has not.
Texts are stored only once: pygls' workspace stays empty.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from pygls.protocol import LanguageServerProtocol

from meshlens.lsp.wire.parameters import what_is_wrong
from meshlens.lsp.wire.refusal import INVALID_PARAMS, Refusal
from meshlens.lsp.wire.transport import encoded

Json = Any
Handle = Callable[[Any, Json], Json]

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
NOT_INITIALIZED, CANCELLED = -32002, -32800

ANSWERED_FROM: Mapping[str, tuple[str, ...]] = {
    "general": ("positionEncodings",),
    "notebookDocument": ("synchronization",),
    "textDocument": ("synchronization", "rename"),
    "workspace": ("fileOperations",),
}
"""The client's capabilities on which pygls' answer to `initialize` depends."""

_log = logging.getLogger("meshlens")


class Protocol(LanguageServerProtocol):
    """Passes each message to its handler, and sends the answer.

    Attributes:
        handlers: the handlers by method; each takes the session and the raw parameters.
        client_params: the parameters of `initialize`.
        answered: the id of the request to initialize if it has been answered already.
    """

    handlers: ClassVar[Mapping[str, Handle]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client_params: Mapping[str, Json] = {}
        self.answered: int | str | None = None
        self._initialize: Callable[[], object] = lambda: None
        self._asked = 0
        self._rest: Callable[[], None] = lambda: None
        self._answers: dict[Any, asyncio.Future[Json]] = {}
        self._begin: Callable[[Protocol], Any] | None = None
        self._session: Any = None
        self._tasks: dict[Any, asyncio.Task[Json]] = {}
        self._cancelled: set[Any] = set()
        self._complained: set[str] = set()
        self._writes: set[asyncio.Future[Any]] = set()
        super().__init__(*args, **kwargs)

    def on_initialize(self, initialize: Callable[[], object]) -> None:
        """Sets a function to run when the client's parameters are known."""
        self._initialize = initialize

    def begin(self, make: Callable[[Protocol], Any]) -> None:
        """Sets the function that creates the session; it runs after the answer to `initialize` because it is slow."""
        self._begin = make

    def session(self) -> Any:
        """Returns the session for handlers; None before `initialize`."""
        if self._session is None and self._begin is not None:
            self._session = self._begin(self)
        return self._session

    def end(self) -> None:
        """Stops the threads and processes of the session."""
        if self._session is not None:
            self._session.indexing.forget()
            self._session.probing.stop()
            if self._session.traces is not None:
                self._session.traces.stop()

    def take(self, bodies: Iterable[bytes]) -> None:
        """Handles messages that arrived together; a request is not started if another message cancels it."""
        messages = [message for body in bodies for message in self._parsed(body)]
        self._cancelled = {_cancelled_id(message) for message in messages} - {None}
        for message in messages:
            self.handle_message(message)
        self._cancelled.clear()
        self._rest()

    def after_messages(self, rest: Callable[[], None]) -> None:
        """Sets a function to run whenever the messages that arrived together have been handled."""
        self._rest = rest

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Returns messages unchanged; `handle_message` knows which are for pygls."""
        return data

    def handle_message(self, message: Any) -> None:
        """Handles one message; an error affects only that message."""
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "expected one message, not a list or a bare value")
            return
        method = message.get("method")
        handler = self.handlers.get(method) if isinstance(method, str) else None
        try:
            if method is None and "id" in message:
                self._answered(message)
            elif method == "initialize" and self.answered is not None and message.get("id") == self.answered:
                self._take_answered(message["params"])
            elif method == "$/cancelRequest":
                self._cancel((message.get("params") or {}).get("id"))
            elif handler is not None:
                self._run(handler, method or "", message)
            elif isinstance(method, str) and "id" not in message and method not in self.fm.builtin_features:
                if not method.startswith("$/"):
                    self._complain(f'ignored the unknown notification "{method}"')
            else:
                if method == "initialize":
                    message = self._narrowed(message)
                super().handle_message(super().structure_message(message))
        except (SystemExit, BrokenPipeError):
            raise
        except Exception as error:
            _log.warning("%s could not be handled: %s: %s", method or "a message", type(error).__name__, error)
            if "id" in message and method is not None:
                self._fail(message["id"], INVALID_REQUEST, f"this message is malformed: {error}")

    def _take_answered(self, params: dict[str, Any]) -> None:
        self.answered = None
        self.client_params = params
        self._server.process_id = params["processId"]
        self._initialize()

    def _narrowed(self, message: dict[str, Any]) -> dict[str, Any]:
        """Returns `initialize` with only the capabilities that pygls reads; structuring all of them takes 60 ms."""
        params = message.get("params")
        if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
            return message
        self.client_params = params
        given = params["capabilities"]
        capabilities = {part: _chosen(given[part], names) for part, names in ANSWERED_FROM.items() if part in given}
        return {**message, "params": {**params, "capabilities": capabilities}}

    def _parsed(self, body: bytes) -> Iterator[Json]:
        try:
            yield json.loads(body)
        except (ValueError, RecursionError) as error:
            _log.warning("skipped a message that is not JSON: %s", error)
            self._fail(None, PARSE_ERROR, f"not JSON: {error}")

    def _run(self, handler: Handle, method: str, message: dict[str, Any]) -> None:
        asked = "id" in message
        session = self.session()
        if self._shutdown or session is None:
            if asked:
                wrong = INVALID_REQUEST if self._shutdown else NOT_INITIALIZED
                self._fail(message["id"], wrong, "the server is shutting down" if self._shutdown else "not initialized")
            return
        if asked and message["id"] in self._cancelled:
            self._fail(message["id"], CANCELLED, "cancelled")
            return
        try:
            result = handler(session, message.get("params") or {})
        except Exception as error:
            self._answer_error(message, method, error)
            return
        if inspect.isawaitable(result):
            self._later(message, method, result)
        elif asked:
            self.send({"id": message["id"], "result": result})

    def _later(self, message: dict[str, Any], method: str, result: Awaitable[Json]) -> None:
        task = asyncio.ensure_future(result)
        number = message.get("id")
        self._tasks[number] = task

        def done(task: asyncio.Future[Json]) -> None:
            self._tasks.pop(number, None)
            if task.cancelled():
                if number is not None:
                    self._fail(number, CANCELLED, "cancelled")
                return
            error = task.exception()
            if error is not None:
                self._answer_error(message, method, error)
            elif number is not None:
                self.send({"id": number, "result": task.result()})

        task.add_done_callback(done)

    def _cancel(self, number: Any) -> None:
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()

    def _answer_error(self, message: dict[str, Any], method: str, error: BaseException) -> None:
        if isinstance(error, Refusal):
            if "id" in message:
                self._fail(message["id"], error.code, str(error), error.data)
            else:
                _log.warning("%s: %s", method, error)
            return
        wrong = what_is_wrong(method, message.get("params"), self._converter)
        if wrong is not None:
            _log.warning("%s: %s", method, wrong)
            if "id" in message:
                self._fail(message["id"], INVALID_PARAMS, wrong)
            return
        self._complain(f"{method} crashed: {type(error).__name__}: {error}")
        _log.debug("%s crashed", method, exc_info=error)
        if "id" in message:
            self._fail(message["id"], INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}")

    def _complain(self, line: str) -> None:
        """Logs a line, unless the same line was already logged."""
        if line not in self._complained:
            self._complained.add(line)
            _log.warning("%s", line)

    def _fail(self, number: Any, code: int, text: str, data: Json = None) -> None:
        error: dict[str, Any] = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        self.send({"id": number, "error": error})

    def ask(self, method: str, params: Json) -> asyncio.Future[Json]:
        """Sends a request to the client, and returns a future for the answer, which is plain data."""
        self._asked += 1
        number = f"meshlens-{self._asked}"
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        # Marks an error as retrieved, because code that does not wait for the answer does not need its error either.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.send({"id": number, "method": method, "params": params})
        return answer

    def _answered(self, message: dict[str, Any]) -> None:
        answer = self._answers.pop(message.get("id"), None)
        if answer is None:
            self._complain("ignored a response to an unknown request")
        elif answer.done():
            return
        elif "error" in message:
            answer.set_exception(Refusal(str((message["error"] or {}).get("message", "the client refused"))))
        else:
            answer.set_result(message.get("result"))

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message of plain data."""
        message["jsonrpc"] = "2.0"
        self._send_data(message)

    def _send_data(self, data: Any) -> None:
        if not data or self.writer is None:
            return
        if self._include_headers:
            written: Any = self.writer.write(encoded(data, self._serialize_message))
        else:
            written = self.writer.write(json.dumps(data, default=self._serialize_message).encode())
        if inspect.isawaitable(written):
            self._writes.add(task := asyncio.ensure_future(written))
            task.add_done_callback(self._writes.discard)


def _chosen(given: Json, names: tuple[str, ...]) -> Json:
    return {name: given[name] for name in names if name in given} if isinstance(given, dict) else given


def _cancelled_id(message: Any) -> Any:
    if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
        params = message.get("params")
        number = params.get("id") if isinstance(params, dict) else None
        return number if isinstance(number, (int, str)) else None
    return None
