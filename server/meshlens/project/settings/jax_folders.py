"""The folders of a project that set the JAX version for their own files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from meshlens.jaxapi.changes import Version
from meshlens.project.settings.jax_version import JaxVersion, locate_jax_version, speaks_of_versions
from meshlens.settings import Settings

JaxFolders = tuple[tuple[str, Version], ...]
"""Absolute paths of folders, each with the version in its own requirements, lock file or environment."""


def find_jax_folders(files: Iterable[Path], root: Path, settings: Settings) -> JaxFolders:
    """Returns the subfolders of a project that set the JAX version for their own files.

    Args:
        files: the files to check; only their folders and those above are searched.
        root: the folder of the project.
        settings: the project's settings; a version or interpreter set there applies to every folder.

    Returns:
        The folders, sorted; none if the settings name a version or an interpreter.
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
    """Returns the version that applies in a folder: its own, else that of the nearest folder above, up to the root.

    Args:
        start: a folder at or below the root.
        root: the folder of the project.
        settings: the project's settings; a version or interpreter set there takes precedence.
    """
    if settings.jax_version is None and not settings.interpreter and start.is_relative_to(root):
        for folder in (start, *start.parents):
            if folder == root:
                break
            if (found := _own(folder, settings)) is not None:
                return found
    return locate_jax_version(root, settings)


def version_in(path: str, folders: JaxFolders, otherwise: Version) -> Version:
    """Returns the version that a file is written for.

    Args:
        path: absolute path of the file.
        folders: the versions set by folders.
        otherwise: the version of the project.
    """
    around = [one for one in folders if path.startswith(one[0]) and path[len(one[0]) :][:1] in ("/", os.sep)]
    return max(around, key=lambda one: len(one[0]))[1] if around else otherwise


def _own(folder: Path, settings: Settings) -> JaxVersion | None:
    return locate_jax_version(folder, settings) if speaks_of_versions(folder) else None
