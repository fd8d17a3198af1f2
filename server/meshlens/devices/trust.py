"""Decides which folders may belong to an untrusted workspace, and whether a path leads into one of them.

Every link on the way is followed: an interpreter outside these folders may be a link to one inside, or may be in a
linked folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from meshlens.foreign_files import NOTE, read_text

_MOST_LINKS = 40
_HOME = re.compile(r"(?im)^[ \t]*(?:home|executable|base-[\w-]+)[ \t]*=[ \t]*(\S.*)")
_MARKS = (".git", ".hg", ".svn", ".jj", ".sl", "meshlens.toml", "pyproject.toml", "setup.py", "setup.cfg")


def enclosing(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the folders, each with its topmost parent that may come from the same source.

    An open folder can be part of a larger download: a repository, a nested repository, or an archive with its own
    `.git`. So each folder is returned together with its topmost parent that has the marker of a repository or project.
    The home folder and its parents are the user's own, so they are never added.
    """
    return tuple(dict.fromkeys(path for folder in folders for path in (folder, _highest_marked(folder))))


def _highest_marked(folder: Path) -> Path:
    real = os.path.realpath(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    found = above = real
    while (parent := os.path.dirname(above)) != above:
        if any(os.path.lexists(os.path.join(above, mark)) for mark in _MARKS):
            found = above
        if parent == home:
            break
        above = parent
    return Path(found) if found != real else folder


def leads_into(path: str | os.PathLike[str], folders: tuple[Path, ...]) -> bool:
    """Returns whether a file or folder, or a link on the way to it, is inside one of these folders."""
    if not folders:
        return False
    if "\0" in os.fspath(path):
        # The text is not a valid path, so its target is unknown.
        return True
    real = [os.path.realpath(folder) for folder in folders]
    return any(
        _is_below(place, folder) for step in _steps(os.fspath(path)) for place in _places(step) for folder in real
    )


def interpreter_leads_into(interpreter: str, folders: tuple[Path, ...]) -> bool:
    """Returns whether running an interpreter could run code in one of these folders.

    This checks the interpreter and the base Python of its virtual environment.
    """
    if not folders:
        return False
    if leads_into(interpreter, folders):
        return True
    return any(leads_into(base, folders) for step in _steps(interpreter) for base in _bases(step))


def _steps(path: str) -> Iterator[str]:
    """Yields the path and its link targets, link by link."""
    step = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        yield step
        try:
            step = os.path.normpath(os.path.join(os.path.dirname(step), os.readlink(step)))
        except OSError:
            return


def _places(path: str) -> tuple[str, ...]:
    return path, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)), os.path.realpath(path)


def _is_below(path: str, folder: str) -> bool:
    """Returns whether a path is in a folder, comparing files by identity, because paths may differ only in case."""
    while True:
        with suppress(OSError, ValueError):
            if os.path.samefile(path, folder):
                return True
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above


def _bases(interpreter: str) -> Iterator[str]:
    beside = Path(interpreter).parent
    for folder in (beside, beside.parent):
        yield from map(str.strip, _HOME.findall(read_text(Path(folder, "pyvenv.cfg"), NOTE)))
