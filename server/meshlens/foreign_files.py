"""Reads files that MeshLens did not write: regular files only, up to a size limit for each kind.

A repository can contain a link to a device, a pipe, or a file of any size under every name that we look for. So nothing
else in MeshLens opens a file that it did not write itself; `tests/test_layers.py` checks that.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

SOURCE = 10_000_000
"""Maximum bytes of a Python file."""

NOTEBOOK = 100_000_000
"""Maximum bytes of a notebook, including pictures in its outputs."""

CONFIGURATION = 1_000_000
"""Maximum bytes of handwritten files: pyproject.toml, .gitignore, requirements, environment.yml, setup.py."""

LOCK = 20_000_000
"""Maximum bytes of a lock file."""

NOTE = 65_536
"""Maximum bytes of a file with a single value: pyvenv.cfg, .python-version, .project."""

LISTING = 1_000_000
"""Maximum bytes of a list of paths, such as conda's environments.txt."""

BASELINE = 50_000_000
"""Maximum bytes of a baseline."""

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
        # Opening a pipe waits for a writer, unless disabled.
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
    """Returns the answer for a file with too many bytes."""
    return Unread(f"larger than {most:,} bytes, the most that MeshLens reads; exclude it or make it smaller")


def _read(handle: int, most: int) -> bytes | Unread:
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        return Unread("cannot be read: it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        return Unread("cannot be read: it is a device or a pipe; replace it with a regular file")
    if status.st_size > most:
        return too_large(most)
    # The size is not reliable: files in /proc have none, and a file may grow while it is read.
    parts: list[bytes] = []
    left = most + 1
    while left and (part := os.read(handle, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts) if left else too_large(most)
