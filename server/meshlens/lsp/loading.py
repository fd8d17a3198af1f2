"""Decides which files of a project are loaded: open files and their imports.

A small project is loaded completely, so that callers in other files are seen; for a large one, the index selects the
files that matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from meshlens.caches.folder import cache_of
from meshlens.foreign_files import Unread
from meshlens.lsp.folders import Folder
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import is_nowhere
from meshlens.lsp.texts.notebooks import written
from meshlens.project.disk.cache import FactsCache
from meshlens.project.disk.discover import walk_files
from meshlens.project.disk.python_text import read_source, utf8
from meshlens.project.disk.source_files import SourceFile, read_file
from meshlens.project.imports import imported_files
from meshlens.project.notebooks.magics import without_magics
from meshlens.project.settings.folder_versions import versions_below

SMALL = 200_000
"""Maximum size, in bytes of Python, of a project that is loaded completely."""

_MOST_FILES = 1000
_NEAR = 200_000
_LARGEST = 1_000_000
"""Maximum size of a file, in bytes; a larger file is probably generated, and each edit to it would take a second."""

_MOST_UNNEEDED = 100_000
"""Maximum total size, in bytes, of files that stay loaded although no open file needs them anymore."""

_SLICE = 10
_log = logging.getLogger("meshlens")


def load(session: Session, path: Path) -> None:
    """Adds an open file, and the files needed to analyze it, to the workspace of its project."""
    folder = session.folder_of(path)
    if folder.excludes(path):
        return
    raw = raw_of(session, path)
    if raw is None:
        return
    wanted: dict[Path, bytes] = {path: raw}
    if not is_nowhere(path):
        if folder.small is None:
            files = _all_if_few(folder)
            folder = replace(folder, small=files is not None)
            wanted.update(_read(session, files or (), {str(path)}))
        known = folder.workspace.files.keys() | set(map(str, wanted))
        wanted.update(_read(session, imports_of(session, folder, path, raw), known))
        folder = with_folder_versions(folder, wanted)
    session.put(replace(folder, workspace=folder.workspace.with_files(wanted)))
    if folder.small is False:
        session.want_index(folder.root)


def with_folder_versions(folder: Folder, paths: Iterable[Path]) -> Folder:
    """Returns the project with the versions of libraries set by the folders of the given files."""
    workspace = folder.workspace
    found = {*workspace.folder_versions, *versions_below(paths, folder.root, folder.settings)}
    if len(found) == len(workspace.folder_versions):
        return folder
    return replace(folder, workspace=replace(workspace, folder_versions=tuple(sorted(found))))


def _all_if_few(folder: Folder) -> list[Path] | None:
    """Returns the files of a small project; None as soon as it proves large, so that nobody waits for a full walk."""
    files: list[Path] = []
    size = 0
    for file in walk_files(folder.root, folder.settings.exclude):
        files.append(file)
        size += _size(file)
        if size > SMALL or len(files) > _MOST_FILES:
            return None
    return sorted(files)


def unload(session: Session, path: Path) -> None:
    """Replaces a closed file with its version on disk, or removes it from the workspace if it is not on disk."""
    folder = session.folder_of(path)
    session.forget_positions(path)
    if str(path) not in folder.workspace.files:
        return
    raw = None if is_nowhere(path) or folder.excludes(path) else _bytes(path)
    workspace = folder.workspace.with_file(path, raw) if raw is not None else folder.workspace.without_file(path)
    workspace = workspace.with_closed(path)
    workspace.forget_checked(path)
    folder = replace(folder, workspace=workspace)
    if folder.small is False:
        near = session.indexing.near(folder.root) if session.indexing is not None else set()
        folder = replace(folder, workspace=workspace.without_files(unneeded(session, folder, near)))
    session.put(folder)


def unneeded(session: Session, folder: Folder, near: set[Path]) -> list[Path]:
    """Returns the files of a large project that are loaded but not needed; none while their total size is small.

    Args:
        session: the session, with the open files.
        folder: the project.
        near: the files in the neighborhoods of open files.
    """
    loaded = folder.workspace.files
    rest = [file for file in loaded.values() if file.path not in near and not session.is_open(file.path)]
    if sum(len(file.raw) for file in rest) <= _MOST_UNNEEDED:
        return []
    imported: set[Path] = set()
    for document in session.documents.values():
        file = loaded.get(str(document.path))
        if file is not None:
            imported.update(imports_of(session, folder, document.path, file.raw))
    return [file.path for file in rest if file.path not in imported]


def raw_of(session: Session, path: Path) -> bytes | None:
    """Returns the bytes of a file as the editor has it, or as it is on disk."""
    texts = list(session.texts(path))
    if not texts:
        return None if is_nowhere(path) else _bytes(path)
    if is_too_large(session, path):
        return None
    if texts[0].notebook is not None:
        return written(document.text.decode("utf-8", "replace") for document in texts)
    return source_of(path, texts[0].text)


def is_too_large(session: Session, path: Path) -> bool:
    """Returns whether an open text is too large to analyze."""
    if sum(len(document.text) for document in session.texts(path)) <= _LARGEST:
        return False
    session.warn_once(f"skipped {path}, which is larger than {_LARGEST:,} bytes")
    return True


def source_of(path: Path, text: bytes) -> bytes:
    """Returns an open text as its file would contain it.

    JupyterLab sends all cells of a notebook as one text, under the notebook's name or a name derived from it.
    """
    if path.suffix == ".ipynb":
        return written([text.decode("utf-8", "replace")])
    if ".ipynb" in path.suffixes:
        return without_magics(text.decode("utf-8", "replace")).encode()
    return text


def imports_of(session: Session, folder: Folder, path: Path, raw: bytes) -> list[Path]:
    """Returns the files that a file imports; in a large project, only some direct imports, up to a total size."""

    def text_of(file: Path) -> bytes | Unread:
        if file == path:
            return raw
        if folder.small is False:
            return b""
        known = folder.workspace.files.get(str(file))
        return known.source if known is not None else read_source(file, _LARGEST)

    found = imported_files([path], [folder.root], text_of)
    if folder.small is not False:
        return found
    near, size = [], 0
    for file in found:
        size += _size(file)
        if size <= _NEAR:
            near.append(file)
    return near


async def read_quietly(session: Session, root: Path, paths: Collection[Path]) -> dict[Path, SourceFile]:
    """Returns the files of a large project that are new or changed, read a few at a time so that typing is not delayed.

    Args:
        session: the session; its open files are skipped.
        root: the project.
        paths: the files to read.
    """
    place = cache_of(root)
    cache = FactsCache(place) if place is not None else None
    known = session.folders[root].workspace.files
    found: dict[Path, SourceFile] = {}
    for number, path in enumerate(sorted(paths)):
        if number % _SLICE == 0:
            await asyncio.sleep(0)
        raw = _bytes(path) if not session.is_open(path) else None
        if raw is None or (str(path) in known and known[str(path)].raw == raw):
            continue
        facts = cache.get(raw, len(raw), is_whole=False) if cache is not None else None
        with suppress(ValueError):
            found[path] = read_file(path, raw, facts)
    if cache is not None:
        cache.close()
    return {path: file for path, file in found.items() if not session.is_open(path)}


def _read(session: Session, paths: Iterable[Path], known: Iterable[str]) -> dict[Path, bytes]:
    have = set(known)
    found = {}
    for path in paths:
        if str(path) not in have and (raw := raw_of(session, path)) is not None:
            found[path] = raw
    return found


def _bytes(path: Path) -> bytes | None:
    text = read_source(path, _LARGEST)
    return None if isinstance(text, Unread) or isinstance(utf8(text), Unread) else text


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
