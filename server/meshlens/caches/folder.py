"""Locates the user's folder for a project's caches, and decides whether it can be trusted.

MeshLens reports what a cache contains, so write access to a cache means control over the findings. Caches are in the
user's own cache folder and never in a project; each file is sealed with the user's random key (`sealed.py`). A folder
is not used if it is inside the project or another repository, which could supply its own cache files; if it is a
link; or if another user owns it or may write to it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import platformdirs

from meshlens.caches.own_files import NotOurs, check_folder, make_folder
from meshlens.caches.user_key import user_key

VARIABLE = "MESHLENS_CACHE_DIR"
"""The environment variable that names another folder for all caches."""

_REPOSITORY_MARKS = (".git", ".hg", ".jj", ".svn")
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Caches of MeshLens; they can be deleted at any time.\n"
_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Cache:
    """The caches of one project.

    Attributes:
        folder: their folder.
        key: the key that seals them.
    """

    folder: Path
    key: bytes


OpenCache: TypeAlias = "Callable[[Path], Cache | None]"
"""A function that returns the caches of a project; None if there are none."""


def cache_of(project: Path, given: Path | None = None) -> Cache | None:
    """Returns the caches of a project; None, with the reason in the log, if they cannot be used.

    Args:
        project: the project's folder.
        given: the folder that the user named on the command line, if any.
    """
    try:
        root = given or default_folder()
        if not root.is_absolute():
            raise NotOurs("it is not an absolute path")
        if (around := _repository_around(root, project)) is not None:
            raise NotOurs(f"it is inside the repository {around}, which could supply its own cache files")
        if make_folder(root):
            _tag(root)
        key = user_key(root)
        folder = root / _name(project)
        if os.path.lexists(folder):
            check_folder(folder)
    except (OSError, NotOurs, ValueError, RuntimeError) as error:
        level = logging.INFO if given is None else logging.WARNING
        _log.log(
            level, "cannot use a cache in %s: %s", given or os.environ.get(VARIABLE) or "the user's cache folder", error
        )
        return None
    return Cache(folder, key)


def default_folder() -> Path:
    """Returns the folder named by the environment variable, or else the default one in the user's cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(os.path.abspath(named))
    return platformdirs.user_cache_path("meshlens", appauthor=False)


def _name(project: Path) -> str:
    return hashlib.blake2b(os.fsencode(os.path.realpath(project)), digest_size=12).hexdigest()


def _tag(root: Path) -> None:
    with open(root / "CACHEDIR.TAG", "xb") as file:
        file.write(_TAG)


def _repository_around(root: Path, project: Path) -> Path | None:
    """Returns the project or repository that contains a folder; the home folder does not count as a repository."""
    project_is, home_is = _identity(project), _identity(Path.home())
    for folder in (*_above(root), *_above(Path(os.path.realpath(root)))):
        identity = _identity(folder)
        if identity is not None and identity == project_is:
            return folder
        if identity != home_is and any(os.path.lexists(folder / mark) for mark in _REPOSITORY_MARKS):
            return folder
    return None


def _above(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _identity(path: Path) -> tuple[int, int] | None:
    """Returns the device and inode of a folder, which do not depend on the spelling of its path."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
