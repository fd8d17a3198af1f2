"""Which frames of a traceback lie in the user's own files."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
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
_OF_LIBRARIES = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*t?)[\\/]")


class Inside:
    """Tells the user's files from those of libraries, and remembers what it told."""

    def __init__(self, root: str, file: str) -> None:
        self.root = os.path.join(os.path.realpath(root), "")
        self.file = os.path.realpath(file)
        self._known: dict[str, str] = {}

    def path(self, name: str) -> str:
        """Returns the path of a file of the user's, and nothing for any other file."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._path(name)
        return found

    def _path(self, name: str) -> str:
        if name.startswith("<"):
            return ""
        real = os.path.realpath(name)
        if real == self.file:
            return real
        if not real.startswith(self.root) or real.startswith(LIBRARIES):
            return ""
        return "" if _OF_LIBRARIES.search(real) else real


def rows_of(source_info: Any, inside: Inside) -> list[tuple[str, int]]:
    """Returns the places of an equation in the user's files, the innermost first."""
    traceback = getattr(source_info, "traceback", None)
    if traceback is None:
        return []
    utilities = sys.modules["jax._src.source_info_util"]
    try:
        frames = list(utilities.user_frames(traceback))
    except (AttributeError, TypeError):
        # Until 0.6 it took the SourceInfo.
        frames = list(utilities.user_frames(source_info))
    found = [(inside.path(frame.file_name), int(frame.start_line)) for frame in frames]
    return [place for place in found if place[0]]


def rows_of_error(error: BaseException, inside: Inside) -> list[tuple[str, int]]:
    """Returns the places that an exception went through in the user's files, the innermost first."""
    found: list[tuple[str, int]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and not found:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            path = inside.path(step.tb_frame.f_code.co_filename)
            if path:
                found.append((path, step.tb_lineno))
            step = step.tb_next
        if isinstance(error, SyntaxError) and error.filename and inside.path(error.filename):
            found.append((inside.path(error.filename), error.lineno or 1))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return found[::-1]
