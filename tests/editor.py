"""An editor for tests: a real server on stdio, and a client with the recorded capabilities of a real one."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lsprotocol import converters, types
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, default_converter, register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

from claims import Heard
from launched import SERVER
from meshlens.text import LineIndex
from recorded_clients import claimed, pulls, recorded


class Protocol(LanguageClientProtocol):
    """The client's end of the connection; notes every message of the server as it came."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.heard = Heard()

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Notes a message before it is decoded."""
        if "jsonrpc" in data:
            self.heard.note(data)
        return super().structure_message(data)

    def send_request(self, method: str, params: Any = None, callback: Any = None, msg_id: Any = None) -> Any:
        """Notes a request, and the token under which its progress may be reported."""
        msg_id = msg_id or str(uuid.uuid4())
        self.heard.asked[msg_id] = method
        self.heard.tokens.add(getattr(params, "work_done_token", None))
        return super().send_request(method, params, callback, msg_id)


@dataclass
class Editor:
    """One editor with one server.

    Attributes:
        name: the recorded client.
        client: the client of the protocol.
        root: the open folder.
        encoding: the encoding in which the server counts columns.
        published: the diagnostics that the server has published, in order.
        registered: the registrations that the server has requested.
        server: the server's capabilities.
        texts: the open texts, by name.
        versions: the versions of the open texts.
    """

    name: str
    client: LanguageClient
    root: Path
    encoding: str
    published: list[types.PublishDiagnosticsParams]
    registered: list[types.Registration]
    server: types.ServerCapabilities
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def moved(self, root: Path) -> Editor:
        """Returns the same editor in another folder, with nothing open there."""
        return replace(self, root=root, texts={}, versions={})

    def can(self, path: str) -> Any:
        """Returns what the client claims at a dotted path of its capabilities."""
        protocol: Any = self.client.protocol
        return claimed(protocol.heard.capabilities, path)

    @property
    def unclaimed(self) -> list[str]:
        """Returns what the server has sent that the client does not claim."""
        protocol: Any = self.client.protocol
        found: list[str] = protocol.heard.unclaimed
        return found

    def uri(self, name: str) -> str:
        """Returns the URI of a file."""
        return (self.root / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        """Opens a file, with its text on the disk if none is given."""
        self.texts[name] = (self.root / name).read_bytes().decode() if text is None else text
        self.versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "python", 1, self.texts[name])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def close(self, name: str) -> None:
        """Closes a file."""
        del self.texts[name]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document(name)))

    def document(self, name: str) -> types.TextDocumentIdentifier:
        """Returns the identifier by which requests name a file."""
        return types.TextDocumentIdentifier(self.uri(name))

    def replace(self, name: str, old: str, new: str) -> None:
        """Replaces a text that occurs exactly once in a file."""
        text = self.texts[name]
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        at = text.index(old)
        where = types.Range(self.position(name, at), self.position(name, at + len(old)))
        self.texts[name] = text[:at] + new + text[at + len(old) :]
        self.versions[name] += 1
        change = types.TextDocumentContentChangePartial(range=where, text=new)
        document = types.VersionedTextDocumentIdentifier(version=self.versions[name], uri=self.uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def position(self, name: str, index: int) -> types.Position:
        """Returns a place in a text, counted as the server counts."""
        source = self.texts[name].encode()
        line, column = LineIndex(source).position(len(self.texts[name][:index].encode()), self.encoding)
        return types.Position(line, column)

    def at(self, name: str, text: str, shift: int = 0) -> types.Position:
        """Returns the place where a text first occurs."""
        return self.position(name, self.texts[name].index(text) + shift)

    def cut(self, name: str, where: types.Range) -> str:
        """Returns the text in a range."""
        source = self.texts[name].encode()
        lines = LineIndex(source)
        start, end = (lines.offset(at.line, at.character, self.encoding) for at in (where.start, where.end))
        return source[start:end].decode()

    async def diagnostics(self, name: str) -> Sequence[types.Diagnostic]:
        """Returns the server's diagnostics of the newest text of a file."""
        protocol: Any = self.client.protocol
        if pulls(protocol.heard.capabilities):
            params = types.DocumentDiagnosticParams(self.document(name))
            report = await self.client.text_document_diagnostic_async(params)
            return report.items if isinstance(report, types.RelatedFullDocumentDiagnosticReport) else ()
        for _ in range(1500):
            for message in reversed(self.published):
                if message.uri == self.uri(name) and message.version == self.versions[name]:
                    return message.diagnostics
            await asyncio.sleep(0.02)
        raise AssertionError(f"no diagnostics of {name}, version {self.versions[name]}")

    @property
    def asked(self) -> list[str]:
        """Returns the methods of the requests that the server sent, in order."""
        protocol: Any = self.client.protocol
        found: list[str] = protocol.heard.requests
        return found

    def told_of(self, how: types.FileChangeType, *names: str) -> None:
        """Reports files that were created, changed or deleted, as a client does that was asked to watch them."""
        changes = [types.FileEvent(self.uri(name), how) for name in names]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until a condition holds, which the server must bring about without being asked."""
        for _ in range(1500):
            if holds():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it never came")

    async def settled(self, name: str, count: int) -> Sequence[types.Diagnostic]:
        """Returns the diagnostics of a file once there are `count`: changes elsewhere reach it a little later."""
        for _ in range(1500):
            found = await self.diagnostics(name)
            if len(found) == count:
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(f"{name} has not got {count} findings: {found}")

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Applies an edit of open files, as an editor would: to the version that the edit was made for."""
        changes: list[tuple[str, Sequence[Any]]] = list((edit.changes or {}).items())
        for one in edit.document_changes or ():
            assert isinstance(one, types.TextDocumentEdit)
            name = Path(types_path(one.text_document.uri)).relative_to(self.root).as_posix()
            assert one.text_document.version in (None, self.versions.get(name))
            changes.append((one.text_document.uri, one.edits))
        for uri, edits in changes:
            name = Path(types_path(uri)).relative_to(self.root).as_posix()
            if name not in self.texts:
                self.open(name)
            for each in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
                self._apply_one(name, each)

    def _apply_one(self, name: str, edit: types.TextEdit) -> None:
        source = self.texts[name].encode()
        lines = LineIndex(source)
        start, end = (lines.offset(at.line, at.character, self.encoding) for at in (edit.range.start, edit.range.end))
        self.texts[name] = (source[:start] + edit.new_text.encode() + source[end:]).decode()
        self.versions[name] += 1
        change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
        document = types.VersionedTextDocumentIdentifier(version=self.versions[name], uri=self.uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


def types_path(uri: str) -> str:
    """Returns the path in a file URI."""
    from meshlens.lsp.texts.documents import path_of

    return str(path_of(uri))


def plain(value: Any) -> Any:
    """Returns a protocol value as JSON has it."""
    return converters.get_converter().unstructure(value)


def _merged(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, Mapping):
        return other
    return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}


@asynccontextmanager
async def editor(
    root: Path,
    client: str = "vscode",
    *,
    extra: Mapping[str, Any] | None = None,
    options: Any = None,
    settings: Mapping[str, Any] | None = None,
    folders: Sequence[Path] = (),
) -> AsyncIterator[Editor]:
    """Yields an editor that has a folder open.

    Args:
        root: the folder.
        client: the recorded client whose capabilities the editor has.
        extra: capabilities besides those.
        options: initialization options besides those.
        settings: the editor's answer when it is asked for its settings.
        folders: more folders that are open.
    """
    said = recorded(client)
    capabilities = _merged(said["capabilities"], extra or {})
    given = {**said.get("initializationOptions", {}), **(options or {})}
    published: list[types.PublishDiagnosticsParams] = []
    registered: list[types.Registration] = []
    lsp = LanguageClient(converter_factory=default_converter, protocol_cls=Protocol)
    protocol: Any = lsp.protocol
    protocol.heard.capabilities, protocol.heard.options = capabilities, given
    lsp.set_configuration({"meshlens": dict(settings or {})})
    own = {
        types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: lambda params: published.append(params),
        types.CLIENT_REGISTER_CAPABILITY: lambda params: registered.extend(params.registrations),
        types.WORKSPACE_INLAY_HINT_REFRESH: lambda params: None,
        types.WORKSPACE_CODE_LENS_REFRESH: lambda params: None,
        types.WINDOW_SHOW_MESSAGE: lambda params: lsp.messages.append(params),
    }
    register_lsp_features(lsp, {**DEFAULT_CLIENT_FEATURES, **own})
    await lsp.start_io(sys.executable, *SERVER, cwd=root)
    converter = converters.get_converter()
    params = types.InitializeParams(
        capabilities=converter.structure(capabilities, types.ClientCapabilities),
        client_info=converter.structure(said["clientInfo"], types.ClientInfo) if "clientInfo" in said else None,
        root_uri=root.as_uri(),
        initialization_options=given or None,
        workspace_folders=[types.WorkspaceFolder(uri=one.as_uri(), name=one.name) for one in (root, *folders)],
    )
    try:
        result = await lsp.initialize_session(params)
        counted = result.capabilities.position_encoding or "utf-16"
        made = Editor(
            client, lsp, root, str(getattr(counted, "value", counted)), published, registered, result.capabilities
        )
        yield made
        assert not made.unclaimed, "\n".join(made.unclaimed)
    finally:
        await lsp.shutdown_session()
        await lsp.stop()
