"""Refuses forbidden actions while arguments are created: writing files, opening connections, starting processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_REFUSED = {
    "socket.connect": "opens a connection",
    "socket.getaddrinfo": "opens a connection",
    "socket.gethostbyname": "opens a connection",
    "socket.bind": "opens a connection",
    "subprocess.Popen": "starts a process",
    "os.system": "starts a process",
    "os.exec": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "pty.spawn": "starts a process",
    "os.mkdir": "creates a folder",
    "os.remove": "removes a file",
    "os.rmdir": "removes a folder",
    "os.rename": "moves a file",
    "os.link": "creates a link",
    "os.symlink": "creates a link",
    "os.truncate": "writes a file",
    "shutil.rmtree": "removes a folder",
    "shutil.move": "moves a file",
    "shutil.copyfile": "writes a file",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS = frozenset({os.devnull, "/dev/shm"})


class NotRun(PermissionError):
    """Raised for a refused action; libraries treat it like any missing permission."""


class _State:
    """The switch of the audit hook, and the first event that was refused.

    An audit hook cannot be removed, so it checks this switch.
    """

    def __init__(self) -> None:
        self.on = False
        self.installed = False
        self.first = ""


_STATE = _State()


@contextmanager
def refusing() -> Iterator[None]:
    """Refuses the forbidden actions until the block ends."""
    if not _STATE.installed:
        sys.addaudithook(_hook)
        _STATE.installed = True
    _STATE.on, _STATE.first = True, ""
    try:
        yield
    finally:
        _STATE.on = False


def first_refused() -> str:
    """Returns the first refused action, as a verb phrase; empty if there was none."""
    return _STATE.first


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _STATE.on:
        return
    what = _REFUSED.get(event)
    if what is None and event == "open" and _writes(arguments):
        what = "writes a file"
    if what is None or _is_importing():
        return
    _STATE.first = _STATE.first or what
    raise NotRun(f"the code that makes the arguments {what}, which a trace does not allow")


def _is_importing() -> bool:
    """Returns whether a module is being imported, which is allowed, since importing the file itself runs code too."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = (*arguments, None, None, None)[:3]
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, (str, os.PathLike)) or os.fspath(path) in _HARMLESS:
        return False
    return isinstance(flags, int) and bool(flags & _WRITING)
