"""Finds and reads the configuration of a project: `meshlens.toml`, or `[tool.meshlens]` in `pyproject.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meshlens.foreign_files import CONFIGURATION, Unread, read_bytes, read_text
from meshlens.project.disk.toml_text import parse_toml
from meshlens.settings import BadSetting, Settings, parse

OWN_FILE = "meshlens.toml"
SHARED_FILE = "pyproject.toml"
PROJECT_MARKS = (OWN_FILE, SHARED_FILE, "setup.py", "setup.cfg", ".git", ".hg")

_OUR_TABLE = re.compile(r"^[ \t]*\[tool\.meshlens", re.MULTILINE)
_LONGEST_KEY = 100
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Configuration:
    """The contents of one configuration file.

    Attributes:
        path: the file; None if there is none.
        settings: its settings, with defaults for the rest.
        origins: the origin of each setting, such as "meshlens.toml:3".
        errors: one line for each error.
    """

    path: Path | None
    settings: Settings
    origins: dict[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()


def find_configuration(start: Path) -> Path | None:
    """Returns the nearest configuration file in a folder or above it.

    Args:
        start: an absolute path of a folder or a file.
    """
    for folder in (start, *start.parents):
        if found := configuration_in(folder):
            return found
    return None


def configuration_in(folder: Path) -> Path | None:
    """Returns the configuration file in exactly this folder."""
    if (folder / OWN_FILE).is_file():
        return folder / OWN_FILE
    shared = folder / SHARED_FILE
    return shared if shared.is_file() and _speaks_to_us(shared) else None


def project_root(start: Path) -> Path:
    """Returns the folder of the project that a path belongs to: the nearest with a configuration or another marker.

    A marker in the home folder or at the root of the file system does not count, because it does not mark a single
    project.

    Args:
        start: an absolute path of a folder or a file.
    """
    first = start if start.is_dir() else start.parent
    home = Path.home()
    for folder in (first, *first.parents):
        if folder != home and folder != folder.parent and is_project(folder):
            return folder
    return first


def is_project(folder: Path) -> bool:
    """Returns whether a folder contains a project marker."""
    return any((folder / mark).exists() for mark in PROJECT_MARKS)


def read_configuration(path: Path | None, name: str = "") -> Configuration:
    """Reads a configuration file.

    Args:
        path: the file; None for the defaults.
        name: the name of the file in messages, if not its path.
    """
    if path is None:
        return Configuration(None, Settings())
    name = name or str(path)
    blank = Settings(folder=str(path.parent))
    text = _text(path)
    if isinstance(text, Unread):
        return Configuration(path, blank, errors=(f"{name}: {text.message}",))
    table = _table(path, text)
    if isinstance(table, Unread):
        return Configuration(path, blank, errors=(f"{name}: {table.message}",))
    if not isinstance(table, dict):
        return Configuration(path, blank, errors=(f'{name}: "tool.meshlens" is not a table',))
    changes: dict[str, Any] = {}
    origins: dict[str, str] = {}
    errors: list[str] = []
    for key, value in table.items():
        line = _line_of(text, key)
        try:
            changes[key.replace("-", "_")] = parse(key, value)
            origins[key] = f"{name}:{line}" if line else name
        except BadSetting as error:
            errors.append(f"{name}:{line}: {error}" if line else f"{name}: {error}")
            if len(errors) == _MOST_ERRORS:
                errors.append(f"{name}: the other keys were not checked; fix these errors first")
                break
    return Configuration(path, replace(blank, **changes), origins, tuple(errors))


def _text(path: Path) -> str | Unread:
    raw = read_bytes(path, CONFIGURATION)
    if isinstance(raw, Unread):
        return raw
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Unread(f"not UTF-8 at byte {error.start}; save it as UTF-8")


def _table(path: Path, text: str) -> object:
    whole = parse_toml(text)
    if path.name == OWN_FILE or isinstance(whole, Unread):
        return whole
    tool = whole.get("tool", {})
    return tool.get("meshlens", {}) if isinstance(tool, dict) else {}


def _speaks_to_us(path: Path) -> bool:
    text = read_text(path, CONFIGURATION)
    if "meshlens" not in text:
        return False
    whole = parse_toml(text)
    if isinstance(whole, Unread):
        return _OUR_TABLE.search(text) is not None
    tool = whole.get("tool")
    return isinstance(tool, dict) and "meshlens" in tool


def _line_of(text: str, key: str) -> int | None:
    """Returns the line, from 1, on which a key is set, judging by the text alone."""
    if len(key) > _LONGEST_KEY:
        return None
    spelled = rf"[\"']?{re.escape(key)}[\"']?"
    start = text.find("[tool.meshlens") if "[tool.meshlens" in text else 0
    found = re.compile(rf"^[ \t]*(?:\[(?:tool\.meshlens\.)?)?{spelled}[ \t]*[=.\]]", re.MULTILINE).search(text, start)
    return text.count("\n", 0, found.start()) + 1 + found[0].count("\n") if found else None
