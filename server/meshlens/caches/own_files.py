"""MeshLens's own files and folders: created for the user alone, and used only if they are the user's.

On systems with owners and permissions, a file counts only if it is a regular file that the user owns and nobody else
may write to.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PART = ".part"
"""The suffix of files that are being written."""

_STALE_SECONDS = 3600.0
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_log = logging.getLogger("meshlens")


class NotOurs(Exception):
    """Raised if a file or folder cannot be trusted, for example because another user may write to it."""


def make_folder(folder: Path) -> bool:
    """Creates a folder that only the user can access, unless it exists; returns whether it was created.

    Raises:
        NotOurs: it exists and is not the user's own.
        OSError: it cannot be created.
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
    """Checks that a folder is the user's own.

    Raises:
        NotOurs: it is not the user's own.
        OSError: it does not exist.
    """
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or getattr(os.path, "isjunction", os.path.islink)(folder):
        raise NotOurs(f"{folder.name} is a link or a file")
    _check_owner(status, folder.name)


def open_file(path: Path, most: int) -> BinaryIO | None:
    """Opens one of our files for reading; returns None if it does not exist.

    Args:
        path: the file.
        most: the maximum number of bytes.

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
            raise NotOurs(f"{path.name} is too large: {status.st_size:,} bytes")
    except BaseException:
        file.close()
        raise
    return file


def read_file(path: Path, most: int) -> bytes | None:
    """Returns the contents of one of our files; None if it does not exist; raises the same errors as `open_file`."""
    file = open_file(path, most)
    if file is None:
        return None
    with file:
        return file.read(most)


def write_part(path: Path, content: bytes) -> Path:
    """Writes contents to a new, uniquely named file next to the given path; returns its path.

    Raises:
        OSError: it cannot be written; nothing is left behind.
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
    """Writes a file atomically: a reader sees either the old contents or the new ones.

    Raises:
        NotOurs: the existing file is not ours; it stays unchanged.
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
    """Checks that a file is the user's own.

    Raises:
        NotOurs: it is not the user's own.
        OSError: it does not exist.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotOurs(f"{path.name} is a link or a folder")
    _check_owner(status, path.name)


def own_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields the files in a folder that are the user's own; none if the folder cannot be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        with suppress(OSError, NotOurs):
            check_file(Path(entry.path))
            yield Path(entry.path), entry.stat(follow_symlinks=False)


def clear_parts(folder: Path) -> None:
    """Deletes partially written files that killed runs left behind."""
    for path, status in own_files(folder):
        if path.name[0] == "." and path.suffix == PART and time.time() - status.st_mtime > _STALE_SECONDS:
            with suppress(OSError):
                path.unlink()


def _check_owner(status: os.stat_result, name: str) -> None:
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise NotOurs(f"{name} belongs to another user")
    if status.st_mode & 0o022:
        raise NotOurs(f"other users can write to {name}")
