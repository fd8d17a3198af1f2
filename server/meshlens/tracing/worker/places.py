"""The frames of a traceback that are in the user's own files."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from typing import Any

LIBRARIES = tuple(
    os.path.join(folder, "")
    for folder in {
        spelled
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
        for path in (sysconfig.get_paths().get(key),)
        if path
        for spelled in (path, os.path.realpath(path))
    }
)
_OWN = os.path.join(os.path.dirname(os.path.realpath(__file__)), "")
_OF_LIBRARIES = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*t?)[\\/]")


class Inside:
    """Distinguishes the user's files from those of libraries, and caches the results.

    Attributes:
        rows: the places of the tracebacks seen so far.
    """

    def __init__(self, root: str, file: str) -> None:
        self.root = os.path.join(os.path.realpath(root), "")
        self.file = os.path.realpath(file)
        self._known: dict[str, tuple[str, bool]] = {}
        self._folders: dict[str, str] = {}
        self.rows: dict[Any, list[tuple[str, int]]] = {}

    def path(self, name: str) -> str:
        """Returns the path of a user's file; an empty string for a library's."""
        return self._found(name)[0]

    def places(self, frames: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Returns the places of frames in the project; if there are none, those outside libraries."""
        found = [(self._found(name), row) for name, row in frames]
        inner = [(path, row) for (path, in_project), row in found if in_project]
        return inner or [(path, row) for (path, _), row in found if path]

    def _found(self, name: str) -> tuple[str, bool]:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._find(name)
        return found

    def _find(self, name: str) -> tuple[str, bool]:
        if name.startswith("<"):
            return "", False
        real = self._real(name)
        if real == self.file:
            return real, True
        if real.startswith((*LIBRARIES, _OWN)) or _OF_LIBRARIES.search(real):
            return "", False
        return real, real.startswith(self.root)

    def _real(self, name: str) -> str:
        """Returns the path of a file without links, resolving each folder only once."""
        folder, base = os.path.split(name)
        if not folder or os.path.islink(name):
            return os.path.realpath(name)
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = os.path.realpath(folder)
        return os.path.join(real, base)


def rows_of(source_info: Any, inside: Inside) -> list[tuple[str, int]]:
    """Returns the places of an equation in the user's files, innermost first."""
    traceback = getattr(source_info, "traceback", None)
    if traceback is None:
        return []
    # Tracebacks with the same frames compare equal, and the layers of a model have the same frames.
    found = inside.rows.get(traceback)
    if found is None:
        found = inside.rows[traceback] = _rows_of(source_info, traceback, inside)
    return found


def _rows_of(source_info: Any, traceback: Any, inside: Inside) -> list[tuple[str, int]]:
    utilities = sys.modules["jax._src.source_info_util"]
    try:
        frames = list(utilities.user_frames(traceback))
    except (AttributeError, TypeError):
        # In releases up to JAX 0.6, this function takes the SourceInfo.
        frames = list(utilities.user_frames(source_info))
    return inside.places((frame.file_name, int(frame.start_line)) for frame in frames)


def rows_of_error(error: BaseException, inside: Inside) -> list[tuple[str, int]]:
    """Returns the places in the user's files that an exception passed through, innermost first."""
    found: list[tuple[str, int]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and not found:
        seen.add(id(error))
        frames: list[tuple[str, int]] = []
        step = error.__traceback__
        while step is not None:
            frames.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
            step = step.tb_next
        if isinstance(error, SyntaxError) and error.filename:
            frames.append((error.filename, error.lineno or 1))
        found = inside.places(frames)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return found[::-1]
