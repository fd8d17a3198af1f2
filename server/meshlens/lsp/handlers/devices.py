"""`meshlens/devices`: the devices that the code is meant for, and those that are here."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from meshlens.lsp.devices_shown import devices_shown
from meshlens.lsp.documents import path_of
from meshlens.lsp.session import Session
from meshlens.project.configuration import OWN_FILE

Shown = dict[str, Any]


def devices(session: Session, params: dict[str, Any]) -> Shown | Awaitable[Shown]:
    """What is known; with `refresh` the project's Python is asked again first."""
    uri = params.get("uri")
    document = session.documents.get(uri) if isinstance(uri, str) else None
    path = document.path if document is not None else path_of(uri) if isinstance(uri, str) else None
    root = _root(session, path)
    return _again(session, root, path) if params.get("refresh") is True else devices_shown(session, root, path)


async def _again(session: Session, root: Path, path: Path | None) -> Shown:
    await session.probing.refresh(root)
    return devices_shown(session, root, path)


def _root(session: Session, path: Path | None) -> Path:
    """The project of a file or folder; without one the first that the client has open."""
    if path is not None:
        is_folder = path in session.given or path in session.folders
        return session.folder_of(path / OWN_FILE if is_folder else path).root
    first = next(iter((*session.folders, *session.given)), Path.cwd())
    return session.folder_of(first / OWN_FILE).root
