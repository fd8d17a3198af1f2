"""`meshlens/devices`: the target devices and the detected devices."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from meshlens.lsp.devices_shown import devices_shown, project_named
from meshlens.lsp.session import Session

Shown = dict[str, Any]


def devices(session: Session, params: dict[str, Any]) -> Shown | Awaitable[Shown]:
    """Returns the known devices; with `refresh`, the project's Python is queried again first."""
    root, path = project_named(session, params)
    return _again(session, root, path) if params.get("refresh") is True else devices_shown(session, root, path)


async def _again(session: Session, root: Path, path: Path | None) -> Shown:
    await session.probing.refresh(root)
    return devices_shown(session, root, path)
