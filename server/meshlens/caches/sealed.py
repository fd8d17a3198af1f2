"""Sealed files: only data sealed with the user's key is decoded."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from contextlib import suppress
from hmac import compare_digest
from pathlib import Path

from meshlens.caches.folder import Cache
from meshlens.caches.own_files import (
    NotOurs,
    check_folder,
    clear_parts,
    make_folder,
    own_files,
    read_file,
    replace_file,
)

SEAL = 16
"""The length of a seal."""

MOST_PROJECTS = 100
MOST_BYTES = 1 << 30
OLDEST_SECONDS = 90 * 24 * 3600.0
"""Limits on the caches of all projects; the oldest caches are deleted first."""

_PROJECT = re.compile(r"[0-9a-f]{24}")
_FILE = re.compile(r"(facts|results|devices)-[0-9a-f]+\.bin|\..+\.part")
_log = logging.getLogger("meshlens")


def sealing_key(cache: Cache, kind: str) -> bytes:
    """Returns the key for one kind of cache of one project; it fits no other cache."""
    return hashlib.blake2b(f"{cache.folder.name} {kind}".encode(), key=cache.key, digest_size=32).digest()


def seal(key: bytes, content: bytes) -> bytes:
    """Returns the seal of the given contents, which only the owner of the key can create."""
    return hashlib.blake2b(content, key=key, digest_size=SEAL).digest()


def is_sealed(key: bytes, content: bytes, found: bytes) -> bool:
    """Returns whether a seal fits the contents."""
    return compare_digest(seal(key, content), found)


def read_sealed(cache: Cache, name: str, most: int) -> bytes | None:
    """Returns the contents of a file; None if it is missing or not sealed with the user's key.

    Args:
        cache: the project's caches.
        name: the file's name.
        most: the maximum number of bytes.
    """
    try:
        content = read_file(cache.folder / name, most + SEAL)
    except (OSError, NotOurs) as error:
        _log.info("ignored the cache in %s: %s", cache.folder, error)
        return None
    if content is None or not is_sealed(sealing_key(cache, name), content[SEAL:], content[:SEAL]):
        return None
    return content[SEAL:]


def write_sealed(cache: Cache, name: str, content: bytes) -> None:
    """Writes contents with their seal, using `write_cache_file`."""
    write_cache_file(cache, name, seal(sealing_key(cache, name), content) + content)


def write_cache_file(cache: Cache, name: str, content: bytes) -> None:
    """Writes a file atomically, and deletes other files of its kind, unfinished ones, and outdated project caches.

    A full or read-only disk is not an error: the next run will be slower.
    """
    folder = cache.folder
    try:
        make_folder(folder)
        replace_file(folder / name, content)
    except (OSError, NotOurs) as error:
        _log.info("could not write the cache in %s: %s", folder, error)
        return
    kind = name.split("-")[0]
    for path, _ in own_files(folder):
        if path.name != name and path.match(f"{kind}-*.bin"):
            with suppress(OSError):
                path.unlink()
    clear_parts(folder)
    clear_projects(folder.parent, folder)


def clear_projects(root: Path, kept: Path) -> None:
    """Deletes project caches not written to for months, and the oldest ones while the limits are exceeded.

    Args:
        root: the folder of all caches.
        kept: the caches that are never deleted.
    """
    projects = []
    with suppress(OSError):
        for entry in os.scandir(root):
            if _PROJECT.fullmatch(entry.name) and entry.name != kept.name and entry.is_dir(follow_symlinks=False):
                files = [status for _, status in own_files(Path(entry.path))]
                newest = max((status.st_mtime for status in files), default=entry.stat().st_mtime)
                projects.append((newest, sum(status.st_size for status in files), Path(entry.path)))
    size = sum(status.st_size for _, status in own_files(kept))
    for number, (newest, own, folder) in enumerate(sorted(projects, reverse=True), 2):
        size += own
        if number > MOST_PROJECTS or size > MOST_BYTES or time.time() - newest > OLDEST_SECONDS:
            size -= own
            _delete(folder)


def _delete(folder: Path) -> None:
    with suppress(OSError, NotOurs):
        check_folder(folder)
        for path, _ in own_files(folder):
            if _FILE.fullmatch(path.name):
                path.unlink()
        # The folder is kept if it contains something that is not ours.
        folder.rmdir()
