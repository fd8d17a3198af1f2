"""Finds the Python files and notebooks below the given paths, with one `scandir` per folder, without opening them.

Skips environments, build products, and paths excluded by `.gitignore` or the configuration.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshlens.foreign_files import CONFIGURATION, read_text
from meshlens.project.disk.patterns import MOST, Pattern, patterns, verdict
from meshlens.project.settings.configuration import OWN_FILE, SHARED_FILE, configuration_in

SUFFIXES = (".py", ".ipynb")
_log = logging.getLogger("meshlens")

ALWAYS_LEFT_OUT = frozenset(
    ".bzr .direnv .eggs .git .hg .ipynb_checkpoints .meshlens_cache .mypy_cache .nox .pants.d .pyenv .pytest_cache "
    ".pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build buck-out build dist node_modules "
    "site-packages venv".split()
)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Patterns that apply below a folder."""

    folder: str
    patterns: tuple[Pattern, ...]
    above: _Rules | None

    def leaves_out(self, path: str, *, folder: bool) -> bool:
        rules: _Rules | None = self
        while rules is not None:
            answer = verdict(
                rules.patterns, path[len(rules.folder) :].lstrip(os.sep).replace(os.sep, "/"), folder=folder
            )
            if answer is not None:
                return answer
            rules = rules.above
        return False


Excludes = Sequence[tuple[Path, tuple[str, ...]]]
"""Patterns as in `.gitignore`, each group with the folder that it is relative to."""


def python_files(paths: Sequence[Path], exclude: Iterable[str] = ()) -> list[Path]:
    """Returns the files to check, sorted, without duplicates; files named explicitly are always included.

    Args:
        paths: absolute paths of files and folders.
        exclude: patterns as in `.gitignore`, relative to each folder.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update((file, None) for file, _ in files_below(path, [(path, tuple(exclude))]))
        elif path.exists():
            found[path] = None
    return sorted(found)


def files_below(top: Path, exclude: Excludes) -> list[tuple[Path, Path | None]]:
    """Returns the files below a folder, sorted, each with its configuration file if it has one below the folder.

    Args:
        top: absolute path of the folder.
        exclude: the patterns of files and folders to skip.
    """
    excluded: _Rules | None = None
    for folder, lines in exclude:
        excluded = _Rules(str(folder), patterns(lines), excluded)
    return sorted(_walk(str(top), excluded, _gitignores_above(top), None), key=lambda found: found[0])


def walk_files(top: Path, exclude: Iterable[str] = ()) -> Iterator[Path]:
    """Yields the files below a folder one by one in arbitrary order, for callers that may stop early.

    Args:
        top: absolute path of a folder.
        exclude: patterns relative to it.
    """
    excluded = _Rules(str(top), patterns(tuple(exclude)), None)
    for path, _ in _walk(str(top), excluded, _gitignores_above(top), None):
        yield path


def _walk(
    top: str, excluded: _Rules | None, ignored_above: _Rules | None, configuration_above: Path | None
) -> Iterator[tuple[Path, Path | None]]:
    # Not recursive, because only the maximum length of a path limits how deeply folders are nested.
    waiting = [(top, ignored_above, configuration_above)]
    while waiting:
        folder, ignored, configuration = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        if folder != top:
            if "pyvenv.cfg" in names:
                continue
            if OWN_FILE in names or SHARED_FILE in names:
                configuration = configuration_in(Path(folder)) or configuration
        if ".gitignore" in names and (ignored is not None or ".git" in names):
            ignored = _gitignore(folder, ignored)
        elif ".git" in names and ignored is None:
            ignored = _Rules(folder, (), None)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in ALWAYS_LEFT_OUT and not _left_out(entry.path, (excluded, ignored), folder=True):
                    waiting.append((entry.path, ignored, configuration))
            elif (
                name.endswith(SUFFIXES)
                and entry.is_file(follow_symlinks=False)
                and not _left_out(entry.path, (excluded, ignored), folder=False)
            ):
                yield Path(entry.path), configuration


def _left_out(path: str, rules: tuple[_Rules | None, ...], *, folder: bool) -> bool:
    return any(one is not None and one.leaves_out(path, folder=folder) for one in rules)


def _gitignores_above(top: Path) -> _Rules | None:
    """Returns the patterns in `.gitignore` files above a folder in a repository."""
    above = []
    for folder in top.parents:
        above.append(folder)
        if (folder / ".git").exists():
            break
    else:
        return None
    if (top / ".git").exists():
        return None
    rules: _Rules | None = _Rules(str(above[-1]), (), None)
    for folder in reversed(above):
        if (folder / ".gitignore").is_file():
            rules = _gitignore(str(folder), rules)
    return rules


def _gitignore(folder: str, above: _Rules | None) -> _Rules:
    path = os.path.join(folder, ".gitignore")
    lines = tuple(read_text(path, CONFIGURATION).splitlines())
    if len(lines) > MOST:
        _log.warning("%s: only its first %s lines are read", path, f"{MOST:,}")
    return _Rules(folder, patterns(lines[:MOST]), above)
