"""Answers requests about a whole project, in this process if the project is fully loaded, else in the helper."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshlens.checking.check import Diagnosed
from meshlens.lsp.beside.index import IndexFailed
from meshlens.lsp.beside.whole_answers import ANSWERS
from meshlens.lsp.session import Session
from meshlens.lsp.wire.refusal import Refusal

_log = logging.getLogger("meshlens")


async def findings_of_project(session: Session, root: Path) -> Mapping[Path, tuple[Diagnosed, ...]]:
    """Returns the findings of every file of a project, reusing the last ones if nothing has changed.

    Args:
        session: the session.
        root: the project.
    """
    folder = session.folders[root]
    known = session.whole_findings.get(root)
    if known is not None and known[0] == folder.revision:
        return known[1]
    found: Mapping[Path, tuple[Diagnosed, ...]]
    if folder.small is False:
        try:
            found = await session.indexing.ask(root, "findings")
        except IndexFailed as error:
            _log.warning("%s", error)
            return {}
    else:
        checked = [file.path for file in folder.workspace.files.values() if file.path.is_relative_to(root)]
        found = {}
        for path in checked:
            found[path] = session.findings(path)
            # Requests that arrived meanwhile come first.
            await asyncio.sleep(0)
    session.whole_findings[root] = (folder.revision, found)
    return found


async def ask_whole(session: Session, what: str, path: Path, *arguments: Any) -> Any:
    """Returns a feature's answer based on every file of a project.

    Args:
        session: the session.
        what: a row of `whole_answers.ANSWERS`.
        path: a file of the project.
        arguments: the arguments of that row's function, after the view of the file.

    Raises:
        Refusal: the helper process could not answer.
    """
    folder = session.folder_of(path)
    if folder.small is False:
        try:
            return await session.indexing.ask(folder.root, "whole", what, path, *arguments)
        except IndexFailed as error:
            _log.warning("%s", error)
            raise Refusal(f"the project could not be read as a whole: {error}") from error
    view = session.view(path)
    return ANSWERS[what](view, *arguments) if view is not None else None
