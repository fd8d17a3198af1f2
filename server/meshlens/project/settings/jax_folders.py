"""Which folders of a project say for themselves what version of JAX their files use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from meshlens.jaxapi.changes import Version
from meshlens.project.settings.jax_version import JaxVersion, locate_jax_version, speaks_of_versions
from meshlens.settings import Settings

JaxFolders = tuple[tuple[str, Version], ...]
"""Absolute paths of folders, each with the version that its own requirements, lock or environment name."""


def find_jax_folders(files: Iterable[Path], root: Path, settings: Settings) -> JaxFolders:
    """Returns the subfolders of a project that set the JAX version for their own files.

    Args:
        files: what is to be checked; only their folders and those above are looked at.
        root: the folder of the project.
        settings: a version or an interpreter that is set there holds for every folder.

    Returns:
        The folders, sorted; none where a version is set.
    """
    if settings.jax_version is not None or settings.interpreter:
        return ()
    folders: set[Path] = set()
    for folder in {file.parent for file in files}:
        while folder != root and folder not in folders and folder.is_relative_to(root):
            folders.add(folder)
            folder = folder.parent
    found = ((folder, _own(folder, settings)) for folder in sorted(folders))
    return tuple((str(folder), jax.version) for folder, jax in found if jax is not None)


def nearest_jax_version(start: Path, root: Path, settings: Settings) -> JaxVersion | None:
    """The version that holds in a folder: its own, else that of the nearest folder above it, up to the root.

    Args:
        start: a folder at or below the root.
        root: the folder of the project.
        settings: a version or an interpreter that is set there wins.
    """
    if settings.jax_version is None and not settings.interpreter and start.is_relative_to(root):
        for folder in (start, *start.parents):
            if folder == root:
                break
            if (found := _own(folder, settings)) is not None:
                return found
    return locate_jax_version(root, settings)


def version_in(path: str, folders: JaxFolders, otherwise: Version) -> Version:
    """The version that a file is written for.

    Args:
        path: absolute path of the file.
        folders: what folders say themselves.
        otherwise: the version of the project.
    """
    around = [one for one in folders if path.startswith(one[0]) and path[len(one[0]) :][:1] in ("/", os.sep)]
    return max(around, key=lambda one: len(one[0]))[1] if around else otherwise


def _own(folder: Path, settings: Settings) -> JaxVersion | None:
    return locate_jax_version(folder, settings) if speaks_of_versions(folder) else None
