"""Files and folders of ours: made for the user alone, and not touched where they are not.

On systems that know owners and permissions, a file counts only if it is a regular one, not a link, and the user's own,
and if nobody else may write to it.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PART = ".part"
"""How the names end of files that are being written."""

_STALE_SECONDS = 3600.0
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_log = logging.getLogger("meshlens")


class NotOurs(Exception):
    """A file or folder that is a link, or that somebody else owns or may write to."""


def make_folder(folder: Path) -> bool:
    """Makes a folder for the user alone, unless it is there; returns whether it was made.

    Raises:
        NotOurs: it is there, and not the user's own.
        OSError: it cannot be made.
    """
    made = False
    if not os.path.lexists(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            made = True
    check_folder(folder)
    return made


def check_folder(folder: Path) -> None:
    """Makes sure that a folder is the user's own.

    Raises:
        NotOurs: it is not.
        OSError: it is not there.
    """
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or getattr(os.path, "isjunction", os.path.islink)(folder):
        raise NotOurs(f"{folder.name} is a link or a file")
    _check_owner(status, folder.name)


def open_file(path: Path, most: int) -> BinaryIO | None:
    """A file of ours to read, None if there is none.

    Args:
        path: the file.
        most: how many bytes it may have.

    Raises:
        NotOurs: it is a link, too large, or not the user's own.
        OSError: it cannot be read.
    """
    try:
        if os.path.islink(path):
            raise NotOurs(f"{path.name} is a link")
        file = os.fdopen(os.open(path, _READ), "rb")
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotOurs(f"{path.name} is not a regular file")
        _check_owner(status, path.name)
        if status.st_size > most:
            raise NotOurs(f"{path.name} has {status.st_size:,} bytes")
    except BaseException:
        file.close()
        raise
    return file


def read_file(path: Path, most: int) -> bytes | None:
    """The content of a file of ours, None if there is none; raises what `open_file` does."""
    file = open_file(path, most)
    if file is None:
        return None
    with file:
        return file.read(most)


def write_part(path: Path, content: bytes) -> Path:
    """Writes a content beside a file, under a name that nobody else has, and gives that.

    Raises:
        OSError: it cannot be written; nothing is left.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}{PART}")
    handle = os.open(part, _CREATE, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    return part


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file in one step: a reader sees the old content or the new one.

    Raises:
        NotOurs: what has this name is not a file of ours; it stays as it is.
        OSError: it cannot be written.
    """
    if os.path.lexists(path):
        check_file(path)
    part = write_part(path, content)
    try:
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def check_file(path: Path) -> None:
    """Makes sure that a file is the user's own.

    Raises:
        NotOurs: it is not.
        OSError: it is not there.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotOurs(f"{path.name} is a link or a folder")
    _check_owner(status, path.name)


def own_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files of a folder that are the user's own; nothing where it cannot be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError, NotOurs):
            check_file(Path(entry.path))
            yield Path(entry.path), entry.stat(follow_symlinks=False)


def clear_parts(folder: Path) -> None:
    """Deletes what a run that was killed has left half written."""
    for path, status in own_files(folder):
        if path.name[0] == "." and path.suffix == PART and time.time() - status.st_mtime > _STALE_SECONDS:
            with suppress(OSError):
                path.unlink()


def _check_owner(status: os.stat_result, name: str) -> None:
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise NotOurs(f"{name} belongs to somebody else")
    if status.st_mode & 0o022:
        raise NotOurs(f"others may write to {name}")
