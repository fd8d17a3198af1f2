"""Reads the files that others wrote: regular files only, up to a number of bytes for each kind.

A repository can hold a link to a device, a pipe, or a file of any size under every name that we look for.
So nothing else in MeshLens opens a file that it did not write itself; `tests/test_layers.py` holds that.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

SOURCE = 10_000_000
"""The most bytes of a Python file."""

NOTEBOOK = 100_000_000
"""The most bytes of a notebook: pictures in its outputs count too."""

CONFIGURATION = 1_000_000
"""The most bytes of what people write by hand: pyproject.toml, .gitignore, requirements, environment.yml, setup.py."""

LOCK = 20_000_000
"""The most bytes of a lock file."""

NOTE = 65_536
"""The most bytes of a file that says one thing: pyvenv.cfg, .python-version, .project."""

LISTING = 1_000_000
"""The most bytes of a list of places, such as conda's environments.txt."""

BASELINE = 50_000_000
"""The most bytes of a baseline."""

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
        message: why, and what to do, to stand after the file's name: "cannot be read: Permission denied".
    """

    message: str


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes | Unread:
    """Returns the bytes of a regular file; links are followed.

    Args:
        path: the file.
        most: the number of bytes above which it is not read.
    """
    try:
        # Opening a pipe waits for a writer, unless told not to.
        handle = os.open(path, _HOW)
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror or error}")
    except ValueError:
        return Unread("cannot be read: its name has characters that no file name can have")
    try:
        return _read(handle, most)
    except OSError as error:
        return Unread(f"cannot be read: {error.strerror or error}")
    finally:
        os.close(handle)


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Returns the text of a regular file, empty if it cannot be read; bytes that are not UTF-8 are replaced."""
    found = read_bytes(path, most)
    return "" if isinstance(found, Unread) else found.decode("utf-8-sig", "replace")


def too_large(most: int) -> Unread:
    """Returns the answer for a file that has more bytes than are read."""
    return Unread(f"larger than {most:,} bytes, which is the most that MeshLens reads; exclude it or make it smaller")


def _read(handle: int, most: int) -> bytes | Unread:
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        return Unread("cannot be read: it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        return Unread("cannot be read: it leads to a device or a pipe; put a regular file in its place")
    if status.st_size > most:
        return too_large(most)
    # The size is no promise: files of /proc have none, and a file may grow while it is read.
    parts: list[bytes] = []
    left = most + 1
    while left and (part := os.read(handle, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts) if left else too_large(most)
