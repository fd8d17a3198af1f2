"""Writes changed files atomically: a reader never sees a partial file, even if the run is stopped.

New contents are written to a temporary file, which gets the permissions, owner and extended attributes of the old file
and is then renamed to replace it. Renaming would separate a file from its hard links, so a file with hard links is
written in place once all files are ready. A killed run leaves at most some `.meshlens-….part` files, which the next
write in that folder deletes.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from meshlens.foreign_files import NOTEBOOK, SOURCE, Unread, read_bytes
from meshlens.project.disk.python_text import as_on_disk, as_utf8

_PART = re.compile(r"\.meshlens-(\d+)-\w+\.part")
_STALE_SECONDS = 3600.0


class CannotWrite(Exception):
    """Raised if a file could not be written; the message names the file and the reason."""


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Writes files, or none of them if one cannot be prepared; keeps permissions and follows links.

    Raises:
        CannotWrite: a file, or its folder, cannot be written to.
    """
    prepared: list[tuple[str, str]] = []
    with _uninterrupted():
        for folder in {os.path.dirname(os.path.realpath(path)) for path in contents}:
            _clear_parts(folder)
        try:
            for path, content in contents.items():
                prepared.append(_prepare(path, content))
            while prepared:
                temporary, target = prepared[-1]
                _put(temporary, target)
                prepared.pop()
        finally:
            for temporary, _ in prepared:
                with suppress(OSError):
                    os.unlink(temporary)


def write_sources(texts: Mapping[Path, bytes], before: Mapping[Path, bytes]) -> None:
    """Writes changed sources, each in the encoding of its file, or none of them.

    Args:
        texts: the changed texts, as UTF-8.
        before: the original texts.

    Raises:
        CannotWrite: a file has changed in the meantime, cannot encode a character, or cannot be written to.
    """
    contents: dict[Path, bytes] = {}
    for path, text in texts.items():
        is_notebook = path.suffix == ".ipynb"
        raw = read_bytes(path, NOTEBOOK if is_notebook else SOURCE)
        if isinstance(raw, Unread):
            raise CannotWrite(f"{path}: {raw.message}; nothing was written")
        if (raw if is_notebook else as_utf8(raw)) != before[path]:
            raise CannotWrite(f"{path}: changed during the check; nothing was written")
        contents[path] = in_its_encoding(path, text, raw)
    write_all(contents)


def in_its_encoding(path: Path, text: bytes, before: bytes) -> bytes:
    """Returns the bytes of a changed source in its file's encoding.

    Args:
        path: the file.
        text: its new text, as UTF-8.
        before: its old bytes.

    Raises:
        CannotWrite: the encoding cannot represent a character.
    """
    content = text if path.suffix == ".ipynb" else as_on_disk(text, before)
    if isinstance(content, Unread):
        raise CannotWrite(f"{path}: {content.message}; nothing was written")
    return content


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Postpones Ctrl-C until the block ends, since it could arrive before the name of a new file is stored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    struck: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: struck.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt


def _prepare(path: Path, content: bytes) -> tuple[str, str]:
    target = os.path.realpath(path)
    temporary = ""
    try:
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only")
        prefix = f".meshlens-{os.getpid()}-"
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=prefix, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
            _copy_owner(target, temporary)
            _copy_attributes(target, temporary)
        else:
            os.chmod(temporary, 0o666 & ~_umask())
    except BaseException as error:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}") from error
        raise
    return temporary, target


def _put(temporary: str, target: str) -> None:
    """Replaces a file with a temporary one; if the file has hard links, replaces only its contents.

    Raises:
        CannotWrite: the file with hard links cannot be written; it is unchanged.
    """
    if not os.path.exists(target) or os.stat(target).st_nlink == 1:
        os.replace(temporary, target)
        return
    with open(temporary, "rb") as file:
        new = file.read()
    try:
        with open(target, "r+b", buffering=0) as file:
            old = file.read()
            try:
                _overwrite(file, new)
            except BaseException:
                _overwrite(file, old)
                raise
    except OSError as error:
        raise CannotWrite(f"{target}: cannot be written: {error.strerror or error}") from error
    os.unlink(temporary)


def _overwrite(file: FileIO, content: bytes) -> None:
    file.seek(0)
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()
    os.fsync(file.fileno())


def _copy_attributes(target: str, temporary: str) -> None:
    """Copies extended attributes, including access control lists, as far as the system allows."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        for name in os.listxattr(target):
            with suppress(OSError):
                os.setxattr(temporary, name, os.getxattr(target, name))


def _clear_parts(folder: str) -> None:
    """Deletes partial files that killed runs of MeshLens left in a folder."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            part = _PART.fullmatch(entry.name)
            if part is None or not entry.is_file(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            is_own = sys.platform == "win32" or status.st_uid == os.geteuid()
            if is_own and (not _lives(int(part[1])) or time.time() - status.st_mtime > _STALE_SECONDS):
                with suppress(OSError):
                    os.unlink(entry.path)


def _lives(process: int) -> bool:
    """Returns whether a process may still exist; True if the system cannot tell."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _copy_owner(target: str, temporary: str) -> None:
    status = os.stat(target)
    if sys.platform != "win32" and (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
            shutil.copymode(target, temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
