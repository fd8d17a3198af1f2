"""`workspace/didChangeConfiguration`: the editor's settings changed; this module also requests the settings."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import uri_of

SECTION = "meshlens"
_log = logging.getLogger("meshlens")


def did_change_configuration(session: Session, params: dict[str, Any]) -> Awaitable[None] | None:
    """Applies the settings in the notification, or requests them from clients that answer requests."""
    if session.client.configures:
        return ask_for_settings(session)
    given = params.get("settings")
    take(session, None, given.get(SECTION) if isinstance(given, Mapping) else None)
    _begin_anew(session)
    return None


async def ask_for_settings(session: Session) -> None:
    """Requests the client's settings, globally and for each of its folders."""
    scopes: list[Path | None] = [None, *session.given]
    items = [{"section": SECTION, **({"scopeUri": uri_of(scope)} if scope else {})} for scope in scopes]
    try:
        answers = await session.ask("workspace/configuration", {"items": items})
    except Exception as error:  # A client may refuse; then its settings stay as they are.
        _log.warning("the client did not send its settings: %s", error)
        return
    before = dict(session.editor)
    for scope, answer in zip(scopes, answers or (), strict=False):
        take(session, scope, answer)
    if session.editor != before:
        _begin_anew(session)


def _begin_anew(session: Session) -> None:
    """Reloads all projects, and announces their devices, because the target may have changed."""
    session.reopen()
    session.probing.announce(list(session.folders))


def take(session: Session, scope: Path | None, given: object) -> None:
    """Stores the editor's settings for a folder or for all; if the editor sends none, its initial settings apply."""
    settings = dict(given) if isinstance(given, Mapping) else session.options if scope is None else {}
    if settings:
        session.editor[scope] = settings
    else:
        session.editor.pop(scope, None)
