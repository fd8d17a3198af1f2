"""Finds the files that the given files import, and those that import them, by matching import lines, not by parsing.

Superfluous files do no harm: they are read but not checked.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import read_source
from meshlens.project.modules import LIBRARIES, SOURCE_FOLDERS

_IMPORT = re.compile(
    rb"[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    rb"|import[ \t]+(?P<plain>[^\n#;]+))",
)
_WORD = re.compile(rb"import")
_NAME = re.compile(r"(?<![\w.])(\w[\w.]*)(?:\s+as\s+\w+)?")
_MOST = 3000


def imported_files(
    files: Sequence[Path], roots: Sequence[Path], text_of: Callable[[Path], bytes | Unread] = read_source
) -> list[Path]:
    """Returns the other files that these files import, directly or indirectly, and that are below the roots.

    Args:
        files: absolute paths.
        roots: folders that imports are resolved from.
        text_of: returns the text of a file; by default from disk.
    """
    tops = tuple(str(root) for root in roots)
    disk = _Disk()
    known = {str(path): path for path in files}
    waiting = list(files)
    found: list[Path] = []
    while waiting and len(found) < _MOST:
        path = waiting.pop()
        text = text_of(path)
        if isinstance(text, Unread):
            continue
        for name in _imports(text, str(path.parent), tops, disk):
            if name not in known:
                known[name] = Path(name)
                waiting.append(known[name])
                found.append(known[name])
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Importing:
    """The files that import the given files, directly or indirectly.

    Attributes:
        files: the files, sorted; if there are too many, only those nearest to the imported files.
        is_complete: whether `files` includes all of them.
    """

    files: tuple[Path, ...]
    is_complete: bool


def importing_files(files: Sequence[Path], others: Iterable[Path], root: Path, most: int) -> Importing:
    """Returns the other files of a project that import the given files, directly or indirectly.

    Args:
        files: absolute paths.
        others: the files to search.
        root: the folder of the project.
        most: the maximum total size of the returned files, in bytes; the farthest files are dropped first.
    """
    tops, disk = (str(root),), _Disk()
    importers: dict[str, list[Path]] = defaultdict(list)
    sizes: dict[Path, int] = {}
    for path in others:
        text = read_source(path)
        if isinstance(text, Unread):
            continue
        sizes[path] = len(text)
        for name in set(_imports(text, str(path.parent), tops, disk)):
            importers[name].append(path)
    waiting, seen = deque(files), set(files)
    found: list[Path] = []
    size = 0
    while waiting:
        for path in importers[str(waiting.popleft())]:
            if path in seen:
                continue
            size += sizes[path]
            if size > most:
                return Importing(tuple(sorted(found)), is_complete=False)
            seen.add(path)
            found.append(path)
            waiting.append(path)
    return Importing(tuple(sorted(found)), is_complete=True)


@dataclass(slots=True)
class _Disk:
    """The folders and files on disk, each folder read once.

    Attributes:
        folders: the names in each folder.
        holders: the folders that contain a top-level module, nearest first, by module and importing folder.
        files: whether each path is a file.
    """

    folders: dict[str, frozenset[str]] = field(default_factory=dict)
    holders: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, bool] = field(default_factory=dict)

    def is_file(self, path: str) -> bool:
        """Returns whether a path is a file."""
        known = self.files.get(path)
        if known is None:
            folder, _, name = path.rpartition("/")
            known = self.files[path] = name in self.names_in(folder) and os.path.isfile(path)
        return known

    def names_in(self, folder: str) -> frozenset[str]:
        """Returns the names in a folder; none if there is no such folder."""
        known = self.folders.get(folder)
        if known is None:
            try:
                known = frozenset(os.listdir(folder))
            except OSError:
                known = frozenset()
            self.folders[folder] = known
        return known


def _imports(text: bytes, folder: str, roots: Collection[str], disk: _Disk) -> Iterator[str]:
    for statement in {match.group("dots", "module", "names", "plain") for match in _import_lines(text)}:
        dots, module, names, plain = ((part or b"").decode("utf-8", "replace") for part in statement)
        if plain:
            for name in _NAME.findall(plain):
                yield from _absolute(name.split("."), folder, roots, disk)
            continue
        parts = [part for part in module.split(".") if part]
        if dots:
            base = folder
            for _ in dots[1:]:
                base = os.path.dirname(base)
            if disk.is_file(f"{base}/__init__.py"):
                yield f"{base}/__init__.py"
            yield from _below(base, parts, _NAME.findall(names), disk)
        elif parts and _holders(parts[0], folder, roots, disk):
            yield from _absolute(parts, folder, roots, disk, _NAME.findall(names))


def _import_lines(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yields the import statements of a source text, searching for the word `import` first because that is faster."""
    end = 0
    for word in _WORD.finditer(text):
        if word.start() >= end:
            match = _IMPORT.match(text, text.rfind(b"\n", 0, word.start()) + 1)
            end = match.end() if match is not None else end
            if match is not None:
                yield match


def _absolute(
    parts: list[str], folder: str, roots: Collection[str], disk: _Disk, items: Sequence[str] = ()
) -> Iterator[str]:
    """Yields the files that an absolute import may refer to, searching from the importing folder up to a root."""
    for holder in _holders(parts[0], folder, roots, disk) if parts else ():
        found = list(_below(holder, parts, items, disk))
        if found:
            yield from found
            return


def _holders(top: str, folder: str, roots: Collection[str], disk: _Disk) -> tuple[str, ...]:
    known = disk.holders.get((folder, top))
    if known is None:
        known = disk.holders[(folder, top)] = tuple(_bases_with(top, folder, roots, disk))
    return known


def _bases_with(top: str, folder: str, roots: Collection[str], disk: _Disk) -> Iterator[str]:
    if top in LIBRARIES and f"/{top}/" not in f"{folder}/":
        return
    current = folder
    while True:
        for extra in SOURCE_FOLDERS:
            base = f"{current}/{extra}" if extra else current
            if not disk.names_in(base).isdisjoint((top, f"{top}.py")):
                yield base
        if current in roots or not any(current.startswith(f"{root}/") for root in roots):
            return
        current = os.path.dirname(current)


def _below(base: str, parts: Sequence[str], items: Sequence[str], disk: _Disk) -> Iterator[str]:
    """Yields the files of a module, of its packages, and of the modules among the names imported from it."""
    place = base
    for number, part in enumerate(parts):
        place = f"{place}/{part}"
        if disk.is_file(f"{place}/__init__.py"):
            yield f"{place}/__init__.py"
        elif disk.is_file(f"{place}.py"):
            yield f"{place}.py"
            return
        elif number == 0 and not os.path.isdir(place):
            return
    for item in items:
        for candidate in (f"{place}/{item}.py", f"{place}/{item}/__init__.py"):
            if disk.is_file(candidate):
                yield candidate
