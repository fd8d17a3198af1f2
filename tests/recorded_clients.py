"""Editors as they introduce themselves: the parameters of `initialize` that real ones sent, and what they claim.

`recorder.py` wrote `recordings` from real editors, and `nox -s editors` and `nox -s vscode` compare them with
what the editors say today; `pytest --update` rewrites them.  No package here has Emacs 29: pytest-lsp recorded it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import depth

CLIENTS = ("vscode", "neovim", "neovim-0.7", "emacs", "emacs-29")
"""VS Code 1.100 with our extension, Neovim 0.11 (UTF-8) and 0.7, eglot 1.9 in Emacs 28, eglot in Emacs 29 (UTF-32)."""

RECORDINGS = Path(__file__).parent / "recordings"
KEPT = ("clientInfo", "initializationOptions", "capabilities")


@cache
def recorded(client: str) -> Mapping[str, Any]:
    """Returns what a client sends with `initialize`, except for what belongs to one machine."""
    path = RECORDINGS / f"{client}.json"
    if path.is_file():
        text = path.read_text("utf-8")
    else:
        theirs = {"emacs-29": "emacs_v29.1"}[client]
        text = (resources.files("pytest_lsp") / "clients" / f"{theirs}.json").read_text("utf-8")
    said: Mapping[str, Any] = json.loads(text)
    return said


def claimed(capabilities: Mapping[str, Any], path: str) -> Any:
    """Returns what capabilities say at a dotted path; None if they say nothing."""
    found: Any = capabilities
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def pulls(capabilities: Mapping[str, Any]) -> bool:
    """Returns whether a client with these capabilities pulls diagnostics and can be asked to do so again."""
    asks_again = claimed(capabilities, "workspace.diagnostics.refreshSupport")
    return claimed(capabilities, "textDocument.diagnostic") is not None and bool(asks_again)


def claims(client: str, path: str) -> bool:
    """Returns true if a client claims what is at a dotted path of its capabilities, with any options."""
    return claimed(recorded(client)["capabilities"], path) not in (None, False)


def claiming(*paths: str) -> list[str]:
    """Returns the clients that claim all of this; there is always one, or a test would be about no client."""
    found = [client for client in CLIENTS if all(claims(client, path) for path in paths)]
    assert found, f"no recorded client claims {', '.join(paths)}"
    return found


def first_of(clients: Sequence[str]) -> list[Any]:
    """Returns clients as parameters of a test; all but the first are marked deep."""
    return depth.some(clients, 1)


def silent_about(path: str) -> list[str]:
    """Returns the clients that do not claim this; there is always one."""
    found = [client for client in CLIENTS if not claims(client, path)]
    assert found, f"every recorded client claims {path}"
    return found


def compare(client: str, message: Path, rewrite: object) -> None:
    """Compares a recording with what an editor has just sent.

    Args:
        client: the client that was recorded.
        message: the file that `recorder.py` wrote.
        rewrite: true to replace the recording with what was sent.
    """
    sent = json.loads(message.read_text("utf-8"))["params"]
    kept = {key: sent[key] for key in KEPT if sent.get(key)}
    if rewrite:
        text = json.dumps(kept, indent=2, sort_keys=True) + "\n"
        (RECORDINGS / f"{client}.json").write_text(text, "utf-8")
    assert recorded(client)["capabilities"] == kept["capabilities"]
    assert recorded(client).get("initializationOptions") == kept.get("initializationOptions")


def stand_in(folder: Path, message: Path) -> Path:
    """Writes a program `meshlens` that records the first message and then runs the server.

    Args:
        folder: where to put the program; meant for the front of a PATH.
        message: the file to which the program writes the first message.

    Returns:
        the path of the program.
    """
    folder.mkdir(parents=True)
    program = folder / "meshlens"
    recorder = Path(__file__).with_name("recorder.py")
    command = f'{sys.executable} {recorder} {message} {sys.executable} -I -m meshlens "$@"'
    program.write_text(f"#!/bin/sh\nexec {command}\n", "utf-8")
    program.chmod(0o755)
    return program
