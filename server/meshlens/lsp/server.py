"""The table of requests, and how a server starts and ends."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

import meshlens
from meshlens.lsp.commands import COMMANDS
from meshlens.lsp.token_types import TOKEN_MODIFIERS, TOKEN_TYPES
from meshlens.lsp.wire.capabilities import ACTION_KINDS, ARGUMENT_BEGINS, NAME_BEGINS, colors_axes, pulls
from meshlens.lsp.wire.first_message import Begun
from meshlens.lsp.wire.framing import Framing
from meshlens.lsp.wire.lazily import lazily
from meshlens.lsp.wire.protocol import Handle, Json, Protocol
from meshlens.lsp.wire.transport import read_pipe

NAME = "meshlens"
PARENT_SECONDS = 0.4
_BEGIN = b"content-"
_CHUNK = 1 << 16
_log = logging.getLogger("meshlens")

NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
            cells=[types.NotebookCellLanguage(language="python")],
        )
    ],
    save=True,
)

HANDLERS: Mapping[str, Handle] = {
    method: lazily(f"meshlens.lsp.handlers.{module}", function)
    for method, (module, function) in {
        "textDocument/didOpen": ("did_open", "did_open"),
        "textDocument/didChange": ("did_change", "did_change"),
        "textDocument/didClose": ("did_close", "did_close"),
        "textDocument/didSave": ("did_save", "did_save"),
        "notebookDocument/didOpen": ("notebook_did_open", "notebook_did_open"),
        "notebookDocument/didChange": ("notebook_did_change", "notebook_did_change"),
        "notebookDocument/didClose": ("notebook_did_close", "notebook_did_close"),
        "notebookDocument/didSave": ("notebook_did_close", "notebook_did_save"),
        "textDocument/diagnostic": ("diagnostic", "diagnostic"),
        "workspace/diagnostic": ("workspace_diagnostic", "workspace_diagnostic"),
        "textDocument/codeAction": ("code_action", "code_action"),
        "codeAction/resolve": ("code_action", "code_action_resolve"),
        "window/workDoneProgress/cancel": ("work_done_progress_cancel", "work_done_progress_cancel"),
        "textDocument/hover": ("hover", "hover"),
        "textDocument/signatureHelp": ("signature_help", "signature_help"),
        "textDocument/completion": ("completion", "completion"),
        "textDocument/definition": ("definition", "definition"),
        "textDocument/references": ("references", "references"),
        "textDocument/documentHighlight": ("document_highlight", "document_highlight"),
        "textDocument/prepareRename": ("rename", "prepare_rename"),
        "textDocument/rename": ("rename", "rename"),
        "textDocument/inlayHint": ("inlay_hint", "inlay_hint"),
        "textDocument/codeLens": ("code_lens", "code_lens"),
        "textDocument/documentSymbol": ("document_symbol", "document_symbol"),
        "workspace/symbol": ("workspace_symbol", "workspace_symbol"),
        "textDocument/prepareCallHierarchy": ("call_hierarchy", "prepare_call_hierarchy"),
        "callHierarchy/incomingCalls": ("call_hierarchy", "incoming_calls"),
        "callHierarchy/outgoingCalls": ("call_hierarchy", "outgoing_calls"),
        "textDocument/semanticTokens/full": ("axis_names", "semantic_tokens"),
        "meshlens/axisNames": ("axis_names", "axis_names"),
        "meshlens/devices": ("devices", "devices"),
        "meshlens/meshes": ("meshes", "meshes"),
        "meshlens/virtualDevices": ("virtual_devices", "virtual_devices"),
        "meshlens/didChangeInterpreter": ("interpreter", "did_change_interpreter"),
        "meshlens/didGrantTrust": ("interpreter", "did_grant_trust"),
        "workspace/executeCommand": ("execute_command", "execute_command"),
        "meshlens/convert": ("convert", "convert"),
        "meshlens/waysToParallelize": ("parallelize", "ways_to_parallelize"),
        "meshlens/trace": ("trace", "trace"),
        "meshlens/traces": ("trace", "traces"),
        "workspace/didChangeConfiguration": ("configuration", "did_change_configuration"),
        "workspace/didChangeWorkspaceFolders": ("workspace_folders", "did_change_workspace_folders"),
        "workspace/didChangeWatchedFiles": ("watched_files", "did_change_watched_files"),
    }.items()
}

OPTIONS: Mapping[str, Any] = {
    "textDocument/completion": types.CompletionOptions(trigger_characters=[*NAME_BEGINS]),
    "textDocument/signatureHelp": types.SignatureHelpOptions(trigger_characters=[*ARGUMENT_BEGINS]),
    "textDocument/rename": types.RenameOptions(prepare_provider=True),
    "textDocument/codeAction": types.CodeActionOptions(code_action_kinds=[*ACTION_KINDS], resolve_provider=True),
    "textDocument/semanticTokens/full": types.SemanticTokensLegend(
        token_types=list(TOKEN_TYPES), token_modifiers=list(TOKEN_MODIFIERS)
    ),
    "textDocument/diagnostic": types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier=NAME
    ),
}

DOES_NOT_CONCERN_CAPABILITIES = (
    "window/workDoneProgress/cancel",
    "workspace/executeCommand",
    "workspace/didChangeConfiguration",
    "codeAction/resolve",
    "meshlens/convert",
    "meshlens/waysToParallelize",
)


def make_server() -> LanguageServer:
    """Returns a server that waits for `initialize`."""
    Protocol.handlers = HANDLERS
    server = LanguageServer(NAME, meshlens.__version__, notebook_document_sync=NOTEBOOKS, protocol_cls=Protocol)
    for method in HANDLERS:
        if method not in DOES_NOT_CONCERN_CAPABILITIES and not method.startswith(f"{NAME}/"):
            server.feature(method, OPTIONS.get(method))(_never_called)
    for command in COMMANDS:
        server.command(command)(_never_called)
    protocol: Any = server.protocol
    protocol.on_initialize(partial(_initialize, server))
    server.feature("initialize")(lambda params: _initialize(server))
    server.feature("initialized")(partial(_on_initialized, server))
    return server


def _never_called(params: object) -> None:
    """Stands in for a handler in pygls' table, from which pygls derives the capabilities."""


def _initialize(server: LanguageServer) -> None:
    """Adapts the offered features to the client; slow work waits until the client has its answer."""
    protocol: Any = server.protocol
    for method in _not_offered(protocol.client_params):
        protocol.fm.features.pop(method, None)

    def begin(protocol: Protocol) -> Any:
        from meshlens.lsp.beginning import begin

        return begin(protocol, protocol.client_params)

    protocol.begin(begin)


def _not_offered(params: Json) -> Iterator[str]:
    """Yields the requests to omit from the capabilities sent to a client."""
    if colors_axes(params):
        yield "textDocument/semanticTokens/full"
    if not pulls(params):
        yield from ("textDocument/diagnostic", "workspace/diagnostic")


async def _on_initialized(server: LanguageServer, params: object) -> None:
    from meshlens.lsp.beginning import settle_in

    protocol: Any = server.protocol
    await settle_in(protocol.session())


def serve_stdio(begun: Begun) -> int:
    """Runs the server on stdin and stdout until the client exits; returns the exit code."""
    server = make_server()
    protocol: Any = server.protocol
    protocol.set_writer(begun.writer)
    protocol.answered = begun.answered
    code = 0
    try:
        asyncio.new_event_loop().run_until_complete(_on_stdin(server, begun))
    except KeyboardInterrupt:
        pass
    except SystemExit as end:
        code = int(end.code or 0)
    _leave(server, code)
    return code


def _leave(server: LanguageServer, code: int) -> None:
    """Exits immediately, because waiting for running work could take longer than clients wait."""
    protocol: Any = server.protocol
    protocol.end()
    logging.shutdown()
    os._exit(code)


async def _on_stdin(server: LanguageServer, begun: Begun) -> None:
    protocol: Any = server.protocol
    watch = asyncio.ensure_future(_end_with_parent(server))
    if begun.bodies:
        protocol.take(begun.bodies)
    reading = asyncio.ensure_future(read_pipe(sys.stdin.fileno(), protocol.take, begun.framing))
    begun.writer.lost = reading.cancel
    try:
        await reading
    except asyncio.CancelledError:
        _log.warning("the client has stopped reading")
    finally:
        watch.cancel()


async def _end_with_parent(server: LanguageServer) -> None:
    """Ends the process when the client's process is gone, even if another process holds our stdin open."""
    while True:
        await asyncio.sleep(PARENT_SECONDS)
        parent = server.process_id
        if parent and os.name == "posix" and not _lives(parent):
            _log.warning("the client's process %s has ended", parent)
            _leave(server, 0)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def serve_tcp(port: int) -> int:
    """Runs the server on a loopback port for one client; returns the exit code."""
    server = make_server()
    with suppress(KeyboardInterrupt):
        asyncio.new_event_loop().run_until_complete(_on_port(server, port))
    _leave(server, 0)
    return 0


async def _on_port(server: LanguageServer, port: int) -> None:
    """Serves the first client that uses the protocol.

    A web page in a browser can send requests to ports on this machine, and the body of a request could be read as a
    message if its headers were ignored; so connections that do not begin with a protocol header are rejected.
    """
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    clients: list[asyncio.StreamWriter] = []
    protocol: Any = server.protocol

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            begin = await reader.readexactly(len(_BEGIN))
            if clients or begin.lower() != _BEGIN:
                writer.close()
                return
            clients.append(writer)
            protocol.set_writer(writer)
            framing = Framing()
            while begin:
                if bodies := list(framing.feed(begin)):
                    protocol.take(bodies)
                begin = await reader.read(_CHUNK)
        if writer in clients and not done.done():
            done.set_result(None)

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        await done
