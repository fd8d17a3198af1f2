"""Reads the version of a library, such as JAX, from the lock files of several tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from meshlens.foreign_files import Unread
from meshlens.jaxapi.changes import Version, parse_version
from meshlens.project.disk.toml_text import parse_toml

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "pixi.lock")
"""The names of lock files, in order of precedence."""

_MOST_TABLES = 20


@cache
def _in_pixi(library: str) -> re.Pattern[str]:
    name = rf"\bname:[ \t]*{library}[ \t]*\r?\n[ \t]*version:[ \t]*['\"]?([\d.]+)"
    return re.compile(rf"/{library}-([\d.]+?)-[^/\s]*\.(?:whl|conda|tar\.bz2)|{name}")


@cache
def _names(library: str) -> re.Pattern[str]:
    return re.compile(rf"^name[ \t]*=[ \t]*\"{library}\"[ \t]*\r?$", re.MULTILINE)


def locked_version(library: str, name: str, text: str) -> Version | None:
    """Returns the version of a library in a lock file; None if there is none.

    Args:
        library: the library.
        name: the name of the file, which determines its format.
        text: its contents.
    """
    if library not in text:
        return None
    if name == "pixi.lock":
        found = _in_pixi(library).search(text)
        return parse_version(next(filter(None, found.groups()))) if found is not None else None
    if name == "Pipfile.lock":
        return _by_pipenv(library, text)
    return next(filter(None, map(_version_in, _tables(library, text))), None)


def _tables(library: str, text: str) -> Iterator[str]:
    """Yields only the tables of a lock file that name the library, because those of others can take megabytes."""
    at = 0
    for _ in range(_MOST_TABLES):
        found = _names(library).search(text, at)
        if found is None:
            return
        begin = text.rfind("\n[[", at, found.start()) + 1
        end = text.find("\n[", found.end())
        at = end if end >= 0 else len(text)
        yield text[begin or text.rfind("\n", 0, found.start()) + 1 : at]


def _version_in(table: str) -> Version | None:
    found = parse_toml(table)
    if isinstance(found, Unread):
        return None
    packages = found.get("package") or found.get("packages")
    package = packages[0] if isinstance(packages, list) and packages else found
    version = package.get("version") if isinstance(package, dict) else None
    return parse_version(version) if isinstance(version, str) else None


def _by_pipenv(library: str, text: str) -> Version | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for section in ("default", "develop"):
        packages = document.get(section) if isinstance(document, dict) else None
        package = packages.get(library) if isinstance(packages, dict) else None
        version = package.get("version") if isinstance(package, dict) else None
        if isinstance(version, str) and (found := parse_version(version.lstrip("= "))) is not None:
            return found
    return None
