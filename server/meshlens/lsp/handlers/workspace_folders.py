"""`workspace/didChangeWorkspaceFolders`: the client's open folders changed."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.handlers.configuration import ask_for_settings
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of


async def did_change_workspace_folders(session: Session, params: dict[str, Any]) -> None:
    """Stores the folders and their settings."""
    event = params["event"]
    gone = {path_of(folder["uri"]) for folder in event.get("removed", ())}
    new = [path_of(folder["uri"]) for folder in event.get("added", ())]
    session.given = (*(folder for folder in session.given if folder not in gone), *new)
    for folder in gone:
        session.editor.pop(folder, None)
    if session.client.configures:
        await ask_for_settings(session)
    session.reopen()
