"""The helper process of the server: it holds the whole project, so that the server needs to hold only open files.

It starts on demand and ends after a period without requests. Requests and answers are pickled, because both ends are
ours. The process reads the project's files and never runs them.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from meshlens.caches.folder import cache_of
from meshlens.checking.check import check
from meshlens.foreign_files import Unread
from meshlens.project.disk.discover import python_files
from meshlens.project.disk.python_text import read_source
from meshlens.project.settings.devices import target_of
from meshlens.project.settings.folder_versions import find_folder_versions
from meshlens.project.solving.neighbours import neighbourhoods
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings

HEADER = struct.Struct("<cQ")
PROGRESS, ANSWER, LAST, FAILED = b"p", b"a", b"l", b"f"
"""Kinds of messages; a process whose memory has grown too much marks its answer as its last, and the server ends it."""

_MOST_GROWTH = 1.25

_log = logging.getLogger("meshlens")


@dataclass(slots=True)
class Project:
    """The project as this process knows it.

    Attributes:
        root, settings: the project's root folder and settings.
        workspace: all of its files, with the open documents.
        overlay: the open documents as of the last request.
    """

    root: Path
    settings: Settings
    workspace: Workspace
    overlay: dict[Path, bytes]


def main() -> None:
    """Answers requests until stdin ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(10)
    # This process writes to the server's log; on a command line, messages at level "info" would be noise.
    logging.basicConfig(format="meshlens: %(message)s", stream=sys.stderr, level=logging.INFO)
    gc.disable()
    project: Project | None = None
    first = 0
    # Not `sys.stdin`: a thread that reads from it holds its lock, which forked processes would wait for.
    for asked in _questions(os.fdopen(os.dup(0), "rb")):
        try:
            if asked["what"] in _WITHOUT_PROJECT:
                _send(out, ANSWER, _WITHOUT_PROJECT[asked["what"]](*asked["project"][:2], *asked["arguments"]))
                continue
            if project is None:
                _send(out, PROGRESS, "reading files")
                root, settings, version = asked["project"]
                project = _open(root, settings, version, asked["overlay"])
            _catch_up(project, asked["overlay"])
            _send(out, PROGRESS, "following axis names")
            answer = _ANSWERS[asked["what"]](project, *asked["arguments"])
            pages = _resident()
            first = first or (pages if asked["what"] == "neighbours" else 0)
            _send(out, LAST if pages > _MOST_GROWTH * first > 0 else ANSWER, answer)
        except Exception as error:
            _log.debug("the helper process failed", exc_info=True)
            _send(out, FAILED, f"{type(error).__name__}: {error}")
        gc.collect()


def _questions(stream: BinaryIO) -> Iterator[Any]:
    """Yields requests; if the server is gone, ends the process immediately."""
    waiting: SimpleQueue[Any] = SimpleQueue()

    def read() -> None:
        try:
            while (asked := _read(stream)) is not None:
                waiting.put(asked)
        finally:
            os._exit(0)

    Thread(target=read, daemon=True, name="stdin").start()
    while True:
        yield waiting.get()


def _open(root: Path, settings: Settings, version: tuple[int, ...], overlay: Mapping[Path, bytes]) -> Project:
    files = python_files([root], settings.exclude)
    workspace = open_workspace(
        [root],
        files=sorted({*files, *overlay}),
        jax_version=version,
        devices=target_of(settings.devices, None),
        overlay=overlay,
        cache=cache_of(root),
    ).with_folder_versions(find_folder_versions(files, root, settings))
    return Project(root, settings, workspace, dict(overlay))


def _catch_up(project: Project, overlay: Mapping[Path, bytes]) -> None:
    """Updates the workspace with the open documents, and rereads newly closed documents from disk."""
    workspace = project.workspace
    for path in project.overlay.keys() - overlay.keys():
        raw = read_source(path)
        workspace = workspace.without_file(path) if isinstance(raw, Unread) else workspace.with_file(path, raw)
    for path, raw in overlay.items():
        known = workspace.files.get(str(path))
        if known is None or known.raw != raw:
            workspace = workspace.with_files({path: raw})
    project.workspace, project.overlay = workspace, dict(overlay)


def _neighbours(project: Project) -> Any:
    return neighbourhoods(project.workspace.solution)


def _changed(project: Project, changes: Mapping[Path, bytes | None]) -> None:
    """Applies changes on disk; None stands for a deleted file."""
    for path, raw in changes.items():
        if path in project.overlay:
            continue
        if raw is None:
            project.workspace = project.workspace.without_file(path)
        else:
            project.workspace = project.workspace.with_files({path: raw})


def _findings(project: Project) -> Any:
    """Returns the findings of every file."""
    workspace = project.workspace
    own = [file.path for file in workspace.files.values() if file.path.is_relative_to(project.root)]
    return {path: check(workspace.view(path), project.settings) for path in own}


def _whole(project: Project, what: str, path: Path, *arguments: Any) -> Any:
    from meshlens.lsp.beside.whole_answers import ANSWERS

    if str(path) not in project.workspace.files:
        return None
    return ANSWERS[what](project.workspace.view(path), *arguments)


_ANSWERS: Mapping[str, Callable[..., Any]] = {
    "neighbours": _neighbours,
    "changed": _changed,
    "findings": _findings,
    "whole": _whole,
}


def _outside(root: Path, settings: Settings, dotted: str) -> Any:
    from meshlens.project.jedi_bridge import import_nothing_else, look_up, package_paths

    if not _closed:
        _closed.append(True)
        import_nothing_else()
    return look_up(dotted, root, package_paths(root, settings))


_closed: list[bool] = []
_WITHOUT_PROJECT: Mapping[str, Callable[..., Any]] = {"outside": _outside}


def _resident() -> int:
    """Returns the number of memory pages that this process uses; 0 if the system does not report it as Linux does."""
    # The peak reported by `resource` includes that of the parent process.
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _read(stream: BinaryIO) -> Any:
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    return pickle.loads(stream.read(HEADER.unpack(head)[1]))


def _send(stream: BinaryIO, kind: bytes, content: object) -> None:
    body = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(HEADER.pack(kind, len(body)) + body)
    stream.flush()
