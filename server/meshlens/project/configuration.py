"""Finds and reads the configuration of a project: `meshlens.toml`, or `[tool.meshlens]` in `pyproject.toml`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meshlens.settings import BadSetting, Settings, parse

OWN_FILE = "meshlens.toml"
SHARED_FILE = "pyproject.toml"
PROJECT_MARKS = (OWN_FILE, SHARED_FILE, "setup.py", "setup.cfg", ".git", ".hg")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What one configuration file says.

    Attributes:
        path: the file; None where there is none.
        settings: what it sets, with defaults for the rest.
        origins: where each key was set: "meshlens.toml:3".
        errors: one line for each thing that is wrong with it.
    """

    path: Path | None
    settings: Settings
    origins: dict[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()


def find_configuration(start: Path) -> Path | None:
    """The nearest configuration file in a folder or above it.

    Args:
        start: an absolute path of a folder or a file.
    """
    for folder in (start, *start.parents):
        if found := configuration_in(folder):
            return found
    return None


def configuration_in(folder: Path) -> Path | None:
    """The configuration file of exactly this folder."""
    if (folder / OWN_FILE).is_file():
        return folder / OWN_FILE
    shared = folder / SHARED_FILE
    return shared if shared.is_file() and _speaks_to_us(shared) else None


def project_root(start: Path) -> Path:
    """The folder of the project that a path belongs to: the nearest with a configuration or another mark.

    A mark in the home folder or at the top of the file system does not count: it says nothing about one project.

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
    """Whether a folder bears the mark of a project."""
    return any((folder / mark).exists() for mark in PROJECT_MARKS)


def read_configuration(path: Path | None, name: str = "") -> Configuration:
    """Reads a configuration file.

    Args:
        path: the file; None for the defaults.
        name: what messages call the file, if not its own path.
    """
    if path is None:
        return Configuration(None, Settings())
    name = name or str(path)
    blank = Settings(folder=str(path.parent))
    try:
        text = path.read_bytes().decode("utf-8-sig")
        table = _table(path, text)
    except OSError as error:
        return Configuration(path, blank, errors=(f"{name}: cannot be read: {error.strerror}",))
    except ValueError as error:
        return Configuration(path, blank, errors=(f"{name}: {_first_line(error)}",))
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
    return Configuration(path, replace(blank, **changes), origins, tuple(errors))


def _table(path: Path, text: str) -> object:
    whole = _loads(text)
    if path.name == OWN_FILE:
        return whole
    tool = whole.get("tool", {})
    return tool.get("meshlens", {}) if isinstance(tool, dict) else {}


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _speaks_to_us(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    if b"meshlens" not in content:
        return False
    try:
        tool = _loads(content.decode("utf-8-sig")).get("tool")
    except ValueError:
        return re.search(rb"^\s*\[tool\.meshlens", content, re.MULTILINE) is not None
    return isinstance(tool, dict) and "meshlens" in tool


def _line_of(text: str, key: str) -> int | None:
    """The line, from 1, on which a key is set, as far as a look at the text can tell."""
    spelled = rf"[\"']?{re.escape(key)}[\"']?"
    start = text.find("[tool.meshlens") if "[tool.meshlens" in text else 0
    found = re.compile(rf"^[ \t]*(?:\[(?:tool\.meshlens\.)?)?{spelled}[ \t]*[=.\]]", re.MULTILINE).search(text, start)
    return text.count("\n", 0, found.start()) + 1 + found[0].count("\n") if found else None


def _first_line(error: ValueError) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text[:1].lower() + text[1:]
