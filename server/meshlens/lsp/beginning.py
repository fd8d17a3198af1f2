"""The start of a session: the client's capabilities, folders and settings, and the files to watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from meshlens.lsp.beside.indexing import Indexing
from meshlens.lsp.collector import Collector
from meshlens.lsp.devices_shown import begin_probing
from meshlens.lsp.handlers.configuration import ask_for_settings, take
from meshlens.lsp.handlers.watched_files import PATTERNS
from meshlens.lsp.looking import Looking
from meshlens.lsp.publishing import Publisher
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of
from meshlens.lsp.wire.client import read_client
from meshlens.lsp.wire.protocol import Protocol


def begin(protocol: Protocol, params: Mapping[str, Any]) -> Session:
    """Returns the session of a client.

    Args:
        protocol: the connection to the client.
        params: the parameters of `initialize`.
    """

    def notify(method: str, content: Any) -> None:
        protocol.send({"method": method, "params": content})

    def ask(method: str, content: Any) -> asyncio.Future[Any]:
        return protocol.ask(method, content)

    session = Session(notify, ask, read_client(params))
    folders = params.get("workspaceFolders") or []
    uris = [folder["uri"] for folder in folders] or [params["rootUri"]] * bool(params.get("rootUri"))
    session.given = tuple(path_of(uri) for uri in uris if uri.startswith("file:"))
    options = params.get("initializationOptions")
    if isinstance(options, Mapping):
        given = options.get("settings", options.get("meshlens"))
        session.options = dict(given) if isinstance(given, Mapping) else {}
        take(session, None, None)
    publisher = Publisher(session, asyncio.get_running_loop())
    session.schedule, session.clear = publisher.schedule, publisher.clear
    session.pull_again = publisher.pull_again
    session.indexing = Indexing(session)
    session.probing = begin_probing(session, options if isinstance(options, Mapping) else {})
    protocol.after_messages(_after_messages(session, publisher))
    return session


def _after_messages(session: Session, publisher: Publisher) -> Callable[[], None]:
    """Returns a function to run once messages are handled; it sends findings first, because the user waits for them."""
    loop = asyncio.get_running_loop()
    collector = Collector(loop)
    looking = Looking(session, loop) if not session.client.watches else None

    def worked() -> None:
        publisher.publish()
        collector.worked()
        if looking is not None:
            looking.worked()

    return worked


async def settle_in(session: Session) -> None:
    """Requests the editor's settings and notifications of file changes."""
    if session.client.watches:
        watchers = [{"globPattern": pattern} for pattern in PATTERNS]
        method = "workspace/didChangeWatchedFiles"
        registration = {"id": "meshlens-files", "method": method, "registerOptions": {"watchers": watchers}}
        session.ask("client/registerCapability", {"registrations": [registration]})
    if session.client.registers_settings:
        registration = {"id": "meshlens-settings", "method": "workspace/didChangeConfiguration"}
        session.ask("client/registerCapability", {"registrations": [registration]})
    if session.client.configures:
        await ask_for_settings(session)
