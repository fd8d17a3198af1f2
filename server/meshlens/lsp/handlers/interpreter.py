"""`meshlens/didChangeInterpreter` and `meshlens/didGrantTrust`: the Python to use, and permission to run it."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of


def did_change_interpreter(session: Session, params: dict[str, Any]) -> None:
    """Stores the editor's Python for a folder, or for all folders."""
    uri, interpreter = params.get("uri"), params.get("interpreter")
    scope = None
    if isinstance(uri, str) and uri.startswith("file:"):
        path = path_of(uri)
        scope = path if path in session.given or path in session.folders else session.folder_of(path).root
    session.probing.tell_interpreter(scope, interpreter if isinstance(interpreter, str) and interpreter else None)
    session.judge_again()


def did_grant_trust(session: Session, params: dict[str, Any]) -> None:
    """Allows running programs in the workspace from now on."""
    if not session.trusted:
        session.probing.trust()
        session.reopen()
