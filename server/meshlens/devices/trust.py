"""Tells which folders an untrusted workspace may have come with, and whether a path leads into one of them.

Follows every link on the way: an interpreter outside may be a link to one inside, or stand in a folder that is one.
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
    """Returns the folders with whatever encloses them and may have come from the same place.

    A folder that somebody opens can be a part of what they have downloaded: of a repository, of one that is nested in
    another, of an archive that brings a `.git` of its own.  So each folder is taken together with the highest one
    above it that bears the mark of a repository or a project.  The home folder and what encloses it are the user's.
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
    """Returns whether a file or folder is inside one of these folders, or a link on the way to it is."""
    if not folders:
        return False
    if "\0" in os.fspath(path):
        # It is not a path; where it would lead to is not known.
        return True
    real = [os.path.realpath(folder) for folder in folders]
    return any(
        _is_below(place, folder) for step in _steps(os.fspath(path)) for place in _places(step) for folder in real
    )


def interpreter_leads_into(interpreter: str, folders: tuple[Path, ...]) -> bool:
    """Returns whether running an interpreter could run something that lies in one of these folders.

    Besides the interpreter itself this looks at the Python that its virtual environment was made from.
    """
    if not folders:
        return False
    if leads_into(interpreter, folders):
        return True
    return any(leads_into(base, folders) for step in _steps(interpreter) for base in _bases(step))


def _steps(path: str) -> Iterator[str]:
    """The path and what it is a link to, link by link."""
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
    """Told by the files themselves, as a name can be spelled in several ways where case does not matter."""
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
