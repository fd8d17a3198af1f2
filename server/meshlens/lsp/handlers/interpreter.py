"""`meshlens/didChangeInterpreter` and `meshlens/didGrantTrust`: what may be run, and which Python it is."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of


def did_change_interpreter(session: Session, params: dict[str, Any]) -> None:
    """Takes the Python that the editor names for a folder, or for everything."""
    uri, interpreter = params.get("uri"), params.get("interpreter")
    scope = None
    if isinstance(uri, str) and uri.startswith("file:"):
        path = path_of(uri)
        scope = path if path in session.given or path in session.folders else session.folder_of(path).root
    session.probing.tell_interpreter(scope, interpreter if isinstance(interpreter, str) and interpreter else None)
    session.judge_again()


def did_grant_trust(session: Session, params: dict[str, Any]) -> None:
    """From now on what lies in the workspace may be run."""
    if not session.trusted:
        session.probing.trust()
        session.reopen()
