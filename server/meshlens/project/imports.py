"""Finds the files of a project that some files import, from a look at their import lines; no file is parsed.

What is found too much does no harm: it is read, and not checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from meshlens.project.modules import LIBRARIES, SOURCE_FOLDERS

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]*)"
    rb"|import[ \t]+(?P<plain>[^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?<![\w.])(\w[\w.]*)(?:\s+as\s+\w+)?")
_MOST = 3000


def imported_files(
    files: Sequence[Path], roots: Sequence[Path], text_of: Callable[[Path], bytes] | None = None
) -> list[Path]:
    """The files below the roots that these files import, directly or not, without these files themselves.

    Args:
        files: absolute paths.
        roots: folders that imports are resolved from.
        text_of: gives the text of a file; reads it from the disk by default.
    """
    read = text_of or Path.read_bytes
    tops = tuple(str(root) for root in roots)
    is_file = partial(_known_file, {})
    known = {str(path): path for path in files}
    waiting = list(files)
    found: list[Path] = []
    while waiting and len(found) < _MOST:
        path = waiting.pop()
        try:
            text = read(path)
        except OSError:
            continue
        for name in _imports(text, str(path.parent), tops, is_file):
            if name not in known:
                known[name] = Path(name)
                waiting.append(known[name])
                found.append(known[name])
    return sorted(found)


def _imports(text: bytes, folder: str, roots: Collection[str], is_file: Callable[[str], bool]) -> Iterator[str]:
    for statement in {match.group("dots", "module", "names", "plain") for match in _IMPORT.finditer(text)}:
        dots, module, names, plain = ((part or b"").decode("utf-8", "replace") for part in statement)
        if plain:
            for name in _NAME.findall(plain):
                yield from _absolute(name.split("."), folder, roots, is_file)
            continue
        parts = [part for part in module.split(".") if part]
        items = _NAME.findall(names)
        if dots:
            base = folder
            for _ in dots[1:]:
                base = os.path.dirname(base)
            if is_file(f"{base}/__init__.py"):
                yield f"{base}/__init__.py"
            yield from _below(base, parts, items, is_file)
        else:
            yield from _absolute(parts, folder, roots, is_file, items)


def _absolute(
    parts: list[str], folder: str, roots: Collection[str], is_file: Callable[[str], bool], items: Sequence[str] = ()
) -> Iterator[str]:
    """The files that an absolute import means: beside the importing file first, then further up to a root."""
    if not parts or (parts[0] in LIBRARIES and f"/{parts[0]}/" not in f"{folder}/"):
        return
    current = folder
    while True:
        for extra in SOURCE_FOLDERS:
            found = list(_below(f"{current}/{extra}" if extra else current, parts, items, is_file))
            if found:
                yield from found
                return
        if current in roots or not any(current.startswith(f"{root}/") for root in roots):
            return
        current = os.path.dirname(current)


def _below(base: str, parts: Sequence[str], items: Sequence[str], is_file: Callable[[str], bool]) -> Iterator[str]:
    """The module, the packages that it lies in, and the modules among the names that are imported from it."""
    place = base
    for number, part in enumerate(parts):
        place = f"{place}/{part}"
        if is_file(f"{place}/__init__.py"):
            yield f"{place}/__init__.py"
        elif is_file(f"{place}.py"):
            yield f"{place}.py"
            return
        elif number == 0 and not os.path.isdir(place):
            return
    for item in items:
        for candidate in (f"{place}/{item}.py", f"{place}/{item}/__init__.py"):
            if is_file(candidate):
                yield candidate


def _known_file(known: dict[str, bool], path: str) -> bool:
    if path not in known:
        known[path] = os.path.isfile(path)
    return known[path]
