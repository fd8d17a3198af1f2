"""`workspace/didChangeWatchedFiles`: files on disk were created, deleted or changed by other programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from meshlens.lsp.loading import raw_of
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import is_nowhere, path_of
from meshlens.project.settings.configuration import OWN_FILE, SHARED_FILE
from meshlens.project.settings.jax_locks import LOCKS

PATTERNS = (
    "**/*.{py,ipynb}",
    f"**/{{{OWN_FILE},{SHARED_FILE},{','.join(LOCKS)},requirements*.txt,setup.py,setup.cfg}}",
)
DELETED = 3


def did_change_watched_files(session: Session, params: dict[str, Any]) -> None:
    """Updates the workspaces; open documents stay as the client has them."""
    changed: dict[Path, int] = {path_of(one["uri"]): one.get("type", 2) for one in params.get("changes", ())}
    for root in session.folders:
        if not is_nowhere(root) and not root.is_dir():
            session.warn_once(f"the folder {root} is gone; its open files stay as they are in the editor")
    sources = {path: how for path, how in changed.items() if path.suffix in (".py", ".ipynb")}
    if len(sources) < len(changed):
        session.reopen()
        return
    for path, how in sources.items():
        _bring_up_to_date(session, path, how)
    session.pull_again()


def _bring_up_to_date(session: Session, path: Path, how: int) -> None:
    if session.is_open(path):
        return
    for folder in list(session.folders.values()):
        if folder.small is False:
            session.indexing.changed(folder.root, path)
        known = str(path) in folder.workspace.files
        if not path.is_relative_to(folder.root) or folder.excludes(path):
            continue
        raw = None if how == DELETED else raw_of(session, path)
        if raw is None and known:
            session.put(replace(folder, workspace=folder.workspace.without_file(path)))
        elif raw is not None and not known and folder.small is False:
            continue
        elif raw is not None and (not known or folder.workspace.files[str(path)].raw != raw):
            session.put(replace(folder, workspace=folder.workspace.with_file(path, raw)))
        else:
            continue
        for document in list(session.documents.values()):
            if document.path.is_relative_to(folder.root):
                session.touch(document.path)
                break
