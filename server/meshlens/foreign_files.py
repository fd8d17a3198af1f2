"""Reads files that MeshLens did not write: regular files only, up to a size limit for each kind.

A repository can contain a link to a device, a pipe, or a file of any size under any name that we look for. So no other
module opens files that MeshLens did not write; `tests/test_layers.py` checks that.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

SOURCE = 10_000_000
"""Maximum size of a Python file in bytes."""

NOTEBOOK = 100_000_000
"""Maximum size of a notebook in bytes, including pictures in its outputs."""

CONFIGURATION = 1_000_000
"""Maximum size of a handwritten file in bytes: pyproject.toml, .gitignore, requirements, environment.yml, setup.py."""

LOCK = 20_000_000
"""Maximum size of a lock file in bytes."""

NOTE = 65_536
"""Maximum size in bytes of a file with a single value: pyvenv.cfg, .python-version, .project."""

LISTING = 1_000_000
"""Maximum size in bytes of a list of paths, such as conda's environments.txt."""

BASELINE = 50_000_000
"""Maximum size of a baseline in bytes."""

_CHUNK = 1 << 20
_HOW = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is not read.

    Attributes:
        message: the reason and remedy, to follow the file's name, such as "cannot be read: Permission denied".
    """

    message: str


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes | Unread:
    """Returns the bytes of a regular file, following links.

    Args:
        path: the file.
        most: the maximum number of bytes.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        handle = os.open(path, _HOW)
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror or error}")
    except ValueError:
        return Unread("cannot be read: its name contains characters that are not allowed in file names")
    try:
        return _read(handle, most)
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror or error}")
    finally:
        os.close(handle)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Returns the text of a regular file, empty if it cannot be read; invalid UTF-8 is replaced."""
    found = read_bytes(path, most)
    return "" if isinstance(found, Unread) else found.decode("utf-8-sig", "replace")


def too_large(most: int) -> Unread:
    """Returns the result for a file with more than the maximum number of bytes."""
    return Unread(f"larger than {most:,} bytes, the most that MeshLens reads; exclude it or make it smaller")


def _read(handle: int, most: int) -> bytes | Unread:
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        return Unread("cannot be read: it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        return Unread("cannot be read: it is a device or a pipe; replace it with a regular file")
    if status.st_size > most:
        return too_large(most)
    # The size is not reliable: files in /proc report none, and a file may grow while it is read.
    parts: list[bytes] = []
    left = most + 1
    while left and (part := os.read(handle, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts) if left else too_large(most)
