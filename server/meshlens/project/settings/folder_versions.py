"""The versions of JAX and other libraries that the folders of a project set for their own files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from meshlens.jaxapi.changes import Version
from meshlens.project.settings.jax_version import (
    JAX,
    LIBRARIES,
    JaxVersion,
    active_version,
    locate_jax_version,
    locate_version,
    speaks_of_versions,
)
from meshlens.settings import Settings


class FolderVersion(NamedTuple):
    """The version of a library in a folder.

    Attributes:
        folder: absolute path of the folder.
        library: the library.
        version: the version in the folder's own requirements, lock file or environment; empty if it is unknown there.
    """

    folder: str
    library: str
    version: Version


FolderVersions = tuple[FolderVersion, ...]


def find_folder_versions(files: Iterable[Path], root: Path, settings: Settings) -> FolderVersions:
    """Returns the versions of libraries other than JAX in a project, and those of all libraries in its subfolders.

    Args:
        files: the files to check; only their folders and those above are searched.
        root: the folder of the project.
        settings: the project's settings; a version or interpreter set there applies to every folder.
    """
    return (*library_versions(root, settings), *versions_below(files, root, settings))


def library_versions(root: Path, settings: Settings) -> FolderVersions:
    """Returns the known versions of libraries other than JAX in a project; the subfolders may have others.

    As for JAX, the active environment counts only if the project itself says nothing about JAX.
    """
    found = [(library, locate_version(library, root, settings)) for library in LIBRARIES]
    known = {library: one[0] for library, one in found if one is not None}
    if len(known) < len(LIBRARIES) and locate_jax_version(root, settings) is None:
        active = [(library, active_version(library)) for library in LIBRARIES if library not in known]
        known |= {library: one[0] for library, one in active if one is not None}
    return tuple([FolderVersion(str(root), library, version) for library, version in known.items()])


def versions_below(files: Iterable[Path], root: Path, settings: Settings) -> FolderVersions:
    """Returns the versions that subfolders of a project set, sorted by folder; arguments as above."""
    if settings.interpreter:
        return ()
    folders: set[Path] = set()
    for folder in {file.parent for file in files}:
        while folder != root and folder not in folders and folder.is_relative_to(root):
            folders.add(folder)
            folder = folder.parent
    return tuple([one for folder in sorted(folders) for one in _own(folder, settings)])


def _own(folder: Path, settings: Settings) -> Iterator[FolderVersion]:
    if not speaks_of_versions(folder):
        return
    jax = locate_version(JAX, folder, settings) if settings.jax_version is None else None
    if jax is not None:
        yield FolderVersion(str(folder), JAX, jax[0])
    for library in LIBRARIES:
        found = locate_version(library, folder, settings)
        # A folder that sets its own JAX may not use the project's version of another library.
        if found is not None or jax is not None:
            yield FolderVersion(str(folder), library, found[0] if found is not None else ())


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
            if speaks_of_versions(folder) and (found := locate_jax_version(folder, settings)) is not None:
                return found
    return locate_jax_version(root, settings)


def version_in(path: str, library: str, folders: FolderVersions, otherwise: Version = ()) -> Version:
    """Returns the version of a library that a file is written for.

    Args:
        path: absolute path of the file.
        library: the library.
        folders: the versions set by folders.
        otherwise: the version elsewhere; empty if it is unknown.
    """
    around = [
        one
        for one in folders
        if one.library == library and path.startswith(one.folder) and path[len(one.folder) :][:1] in ("/", os.sep)
    ]
    return max(around, key=lambda one: len(one.folder)).version if around else otherwise
