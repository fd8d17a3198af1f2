"""Writes changed files in one step each: a reader, or a run that is stopped, never sees half of one."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


class CannotWrite(Exception):
    """A file could not be written; the message says which and why."""


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Writes files, or none of them if one cannot be prepared; keeps permissions and follows links.

    Raises:
        CannotWrite: a file, or its folder, must not be written to.
    """
    prepared: list[tuple[str, str]] = []
    with _uninterrupted():
        try:
            for path, content in contents.items():
                prepared.append(_prepare(path, content))
            while prepared:
                temporary, target = prepared[-1]
                os.replace(temporary, target)
                prepared.pop()
        finally:
            for temporary, _ in prepared:
                with suppress(OSError):
                    os.unlink(temporary)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts Ctrl-C off until the block is over, as it would else strike between a file's making and its name."""
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
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".meshlens-", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
            _copy_owner(target, temporary)
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


def _copy_owner(target: str, temporary: str) -> None:
    status = os.stat(target)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
        with suppress(OSError):
            os.chown(temporary, status.st_uid, status.st_gid)
            shutil.copymode(target, temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
