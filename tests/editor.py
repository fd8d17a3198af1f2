"""An editor for tests: a real server on stdio, spoken to in the recorded capabilities of real clients."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import converters, types
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, default_converter, register_lsp_features

from meshlens.text import LineIndex

CLIENTS = ("visual-studio-code", "neovim", "neovim@v0.7.0", "emacs")
SERVER = ("-m", "meshlens", "server")


@dataclass
class Editor:
    """One editor with one server.

    Attributes:
        client: the protocol's other end.
        root: the folder that is open.
        encoding: what the server counts columns in.
        published: what the server has published, in order.
        registered: what it asked to be told.
        texts: the open texts by name.
        versions: their versions.
    """

    client: LanguageClient
    root: Path
    encoding: str
    published: list[types.PublishDiagnosticsParams]
    registered: list[types.Registration]
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        """The URI of a file."""
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
        """How requests name a file."""
        return types.TextDocumentIdentifier(self.uri(name))

    def replace(self, name: str, old: str, new: str) -> None:
        """Edits the one place where a text stands."""
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
        """A place in a text, counted as the server counts."""
        source = self.texts[name].encode()
        line, column = LineIndex(source).position(len(self.texts[name][:index].encode()), self.encoding)
        return types.Position(line, column)

    def at(self, name: str, text: str, shift: int = 0) -> types.Position:
        """The place where a text first stands."""
        return self.position(name, self.texts[name].index(text) + shift)

    def cut(self, name: str, where: types.Range) -> str:
        """What stands in a range."""
        source = self.texts[name].encode()
        lines = LineIndex(source)
        start, end = (lines.offset(at.line, at.character, self.encoding) for at in (where.start, where.end))
        return source[start:end].decode()

    async def diagnostics(self, name: str) -> Sequence[types.Diagnostic]:
        """What the server says about the newest text of a file."""
        capabilities = self.client.capabilities
        if capabilities and capabilities.text_document and capabilities.text_document.diagnostic:
            params = types.DocumentDiagnosticParams(self.document(name))
            report = await self.client.text_document_diagnostic_async(params)
            return report.items if isinstance(report, types.RelatedFullDocumentDiagnosticReport) else ()
        for _ in range(1500):
            for message in reversed(self.published):
                if message.uri == self.uri(name) and message.version == self.versions[name]:
                    return message.diagnostics
            await asyncio.sleep(0.02)
        raise AssertionError(f"no diagnostics of {name}, version {self.versions[name]}")

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Applies an edit of open files, as an editor would: against the version that it was made for."""
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
    """The path in a file URI."""
    from meshlens.lsp.documents import path_of

    return str(path_of(uri))


def plain(value: Any) -> Any:
    """A protocol value as JSON has it."""
    return converters.get_converter().unstructure(value)


def capabilities(name: str, extra: Mapping[str, Any] | None = None) -> types.ClientCapabilities:
    """The capabilities of a recorded client, with more of them if a test needs that."""
    recorded = client_capabilities(name)
    if not extra:
        return recorded
    merged = _merged(plain(recorded), extra)
    return converters.get_converter().structure(merged, types.ClientCapabilities)


def _merged(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, Mapping):
        return other
    return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}


@asynccontextmanager
async def editor(
    root: Path,
    client: str = "visual-studio-code",
    *,
    extra: Mapping[str, Any] | None = None,
    options: Any = None,
    settings: Mapping[str, Any] | None = None,
    folders: Sequence[Path] = (),
) -> AsyncIterator[Editor]:
    """An editor that has a folder open.

    Args:
        root: the folder.
        client: the recorded client whose capabilities it has.
        extra: capabilities besides those.
        options: initialization options.
        settings: what it answers when asked for its settings.
        folders: further folders that are open.
    """
    published: list[types.PublishDiagnosticsParams] = []
    registered: list[types.Registration] = []
    lsp = LanguageClient(converter_factory=default_converter)
    lsp.set_configuration({"meshlens": dict(settings or {})})
    own = {
        types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: lambda params: published.append(params),
        types.CLIENT_REGISTER_CAPABILITY: lambda params: registered.extend(params.registrations),
    }
    register_lsp_features(lsp, {**DEFAULT_CLIENT_FEATURES, **own})
    await lsp.start_io(sys.executable, *SERVER, cwd=root)
    params = types.InitializeParams(
        capabilities=capabilities(client, extra),
        root_uri=root.as_uri(),
        initialization_options=options,
        workspace_folders=[types.WorkspaceFolder(uri=one.as_uri(), name=one.name) for one in (root, *folders)],
    )
    try:
        result = await lsp.initialize_session(params)
        given = result.capabilities.position_encoding or "utf-16"
        encoding = str(getattr(given, "value", given))
        yield Editor(lsp, root, encoding, published, registered)
    finally:
        await lsp.shutdown_session()
        await lsp.stop()
