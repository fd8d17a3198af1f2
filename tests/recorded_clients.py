"""Editors as they introduce themselves: the parameters of `initialize` that real ones sent, and what these claim.

`recordings` was written by `recorder.py` from real editors, and `nox -s editors` and `nox -s vscode` compare it with
what they say today; `pytest --update` writes it again.  Emacs 29 is in no package here: its recording is pytest-lsp's.
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
    """What a client sends with `initialize`, but for what belongs to one machine."""
    path = RECORDINGS / f"{client}.json"
    if path.is_file():
        text = path.read_text("utf-8")
    else:
        theirs = {"emacs-29": "emacs_v29.1"}[client]
        text = (resources.files("pytest_lsp") / "clients" / f"{theirs}.json").read_text("utf-8")
    said: Mapping[str, Any] = json.loads(text)
    return said


def claimed(capabilities: Mapping[str, Any], path: str) -> Any:
    """What capabilities say at a dotted path; None where they are silent."""
    found: Any = capabilities
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def pulls(capabilities: Mapping[str, Any]) -> bool:
    """Returns whether a client with these capabilities pulls diagnostics and can be asked to do so again."""
    asks_again = claimed(capabilities, "workspace.diagnostics.refreshSupport")
    return claimed(capabilities, "textDocument.diagnostic") is not None and bool(asks_again)


def claims(client: str, path: str) -> bool:
    """Whether a client claims what stands at a dotted path of its capabilities, with whatever options."""
    return claimed(recorded(client)["capabilities"], path) not in (None, False)


def claiming(*paths: str) -> list[str]:
    """The clients that claim all of this; there is always one, or a test would be about nobody."""
    found = [client for client in CLIENTS if all(claims(client, path) for path in paths)]
    assert found, f"no recorded client claims {', '.join(paths)}"
    return found


def first_of(clients: Sequence[str]) -> list[Any]:
    """Returns clients as parameters of a test; all but the first are deep."""
    return depth.some(clients, 1)


def silent_about(path: str) -> list[str]:
    """The clients that do not claim this; there is always one."""
    found = [client for client in CLIENTS if not claims(client, path)]
    assert found, f"every recorded client claims {path}"
    return found


def compare(client: str, message: Path, rewrite: object) -> None:
    """Holds a recording against what an editor just sent.

    Args:
        client: which recording.
        message: what `recorder.py` wrote.
        rewrite: true to keep what was sent instead.
    """
    sent = json.loads(message.read_text("utf-8"))["params"]
    kept = {key: sent[key] for key in KEPT if sent.get(key)}
    if rewrite:
        text = json.dumps(kept, indent=2, sort_keys=True) + "\n"
        (RECORDINGS / f"{client}.json").write_text(text, "utf-8")
    assert recorded(client)["capabilities"] == kept["capabilities"]
    assert recorded(client).get("initializationOptions") == kept.get("initializationOptions")


def stand_in(folder: Path, message: Path) -> Path:
    """A program `meshlens` that records and then is the server.

    Args:
        folder: where to put it; for the front of a PATH.
        message: where it writes what it was sent first.

    Returns:
        the program.
    """
    folder.mkdir(parents=True)
    program = folder / "meshlens"
    recorder = Path(__file__).with_name("recorder.py")
    command = f'{sys.executable} {recorder} {message} {sys.executable} -I -m meshlens "$@"'
    program.write_text(f"#!/bin/sh\nexec {command}\n", "utf-8")
    program.chmod(0o755)
    return program
