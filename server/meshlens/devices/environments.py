"""The Python environments of a folder: inside it, or where its tools keep them.

They are found from files alone, in the layouts of virtualenv 21, uv 0.9, conda 25, pixi 0.40, poetry 2, hatch 1.15 and
pipenv 2026.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from meshlens.foreign_files import CONFIGURATION, LISTING, NOTE, read_text

_PYTHONS = ("python.exe", "Scripts/python.exe") if sys.platform == "win32" else ("bin/python", "bin/python3")
_CONDA_NAME = re.compile(r"""^name:\s*["']?([^\s"'#]+)""", re.MULTILINE)
_NAMED_FIRST = (".venv", "venv")


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with its own Python and packages.

    Attributes:
        folder: its path.
        python: its Python.
        origin: how it was found, in words, such as ".venv" or "poetry".
    """

    folder: Path
    python: str
    origin: str


def python_of(folder: Path) -> str | None:
    """Returns the path of the Python in an environment; None if the environment contains no Python."""
    return next((str(folder / name) for name in _PYTHONS if os.path.lexists(folder / name)), None)


def environments_of(folder: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Environment]:
    """Yields the existing environments of a folder, most likely first.

    Args:
        folder: the folder of a project.
        environ: the environment variables, some of which say where tools keep their data.
    """
    yield from _inside(folder, environ)
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~"))
    yield from _poetry(folder, home, environ)
    yield from _hatch(folder, home, environ)
    yield from _pipenv(folder, home, environ)
    yield from _conda(folder, home)


def is_environment(folder: Path) -> bool:
    """Returns whether a folder looks like a virtual or conda environment."""
    return os.path.exists(folder / "pyvenv.cfg") or os.path.isdir(folder / "conda-meta")


def environment_of(python: str) -> Path:
    """Returns the folder of the environment whose packages a Python sees first, given the path of the Python."""
    beside = Path(python).parent
    return beside if is_environment(beside) else beside.parent


def packages_of(environment: Path) -> Iterator[Path]:
    """Yields the package folders of an environment, those of the newest Python first."""
    yield from sorted(environment.glob("lib/python3*/site-packages"), key=_numbers, reverse=True)
    # `Path.is_dir` raises an error on a path that is too long.
    if os.path.isdir(windows := environment / "Lib" / "site-packages"):
        yield windows


def has_package(environment: Path, package: str) -> bool:
    """Returns whether a package is installed in an environment, judging by its metadata."""
    return any(next(folder.glob(f"{package}-*-info"), None) is not None for folder in packages_of(environment))


def _inside(folder: Path, environ: Mapping[str, str]) -> Iterator[Environment]:
    names: list[str] = []
    with suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    if uv := environ.get("UV_PROJECT_ENVIRONMENT"):
        yield from _existing(folder / uv, "UV_PROJECT_ENVIRONMENT")
    for name in sorted(names, key=lambda name: (*(name != first for first in _NAMED_FIRST), name)):
        if is_environment(folder / name):
            yield from _existing(folder / name, name)
    kept = folder / ".pixi" / "envs"
    if ".pixi" in names and kept.is_dir():
        for path in sorted(kept.iterdir(), key=lambda path: (path.name != "default", path.name)):
            yield from _existing(path, f"pixi {path.name}")


def _existing(folder: Path, origin: str) -> Iterator[Environment]:
    if python := python_of(folder):
        yield Environment(folder, python, origin)


def _poetry(folder: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Environment]:
    """Yields Poetry's environment, which is named after the project and a hash of its folder."""
    cache = environ.get("POETRY_CACHE_DIR") or _place(
        home, environ, "XDG_CACHE_HOME", ".cache/pypoetry", "Library/Caches/pypoetry", "pypoetry/Cache"
    )
    kept = Path(environ.get("POETRY_VIRTUALENVS_PATH") or Path(cache, "virtualenvs"))
    for path in _listed(kept):
        if re.search(rf"-{_hash(os.path.normcase(os.path.realpath(folder)))}-py[\d.]+$", path.name):
            yield from _existing(path, "poetry")


def _hatch(folder: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Environment]:
    """Yields a project's Hatch environments, which are in one folder; the default one is named after the project."""
    data = environ.get("HATCH_DATA_DIR") or _place(
        home, environ, "XDG_DATA_HOME", ".local/share/hatch", "Library/Application Support/hatch", "hatch"
    )
    for project in _listed(Path(data, "env", "virtual")):
        for spelled in dict.fromkeys((str(folder), os.path.realpath(folder))):
            found = _listed(project / _hash(spelled))
            for path in sorted(found, key=lambda path: (path.name != project.name, path.name)):
                yield from _existing(path, "hatch" if path.name == project.name else f"hatch {path.name}")


def _pipenv(folder: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Environment]:
    """Yields Pipenv's environment, in which a file records the folder of the project."""
    kept = Path(
        environ.get("WORKON_HOME") or home / (".virtualenvs" if os.name == "nt" else ".local/share/virtualenvs")
    )
    for path in _listed(kept):
        with suppress(OSError, ValueError):
            if os.path.samefile(read_text(path / ".project", NOTE).strip(), folder):
                yield from _existing(path, "pipenv")


def _conda(folder: Path, home: Path) -> Iterator[Environment]:
    """Yields the environment that `environment.yml` names, among those that conda lists."""
    wanted: set[str] = set()
    for name in ("environment.yml", "environment.yaml"):
        wanted.update(_CONDA_NAME.findall(read_text(folder / name, CONFIGURATION)))
    if not wanted:
        return
    for line in read_text(home / ".conda" / "environments.txt", LISTING).splitlines():
        if Path(line.strip()).name in wanted:
            yield from _existing(Path(line.strip()), f"conda {Path(line.strip()).name}")


def _hash(path: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest())[:8].decode()


def _place(home: Path, environ: Mapping[str, str], variable: str, linux: str, mac: str, windows: str) -> Path:
    """Returns the folder in which a tool keeps its data on this platform."""
    if sys.platform == "darwin":
        return home / mac
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local", windows)
    base = environ.get(variable)
    return Path(base, Path(linux).name) if base else home / linux


def _numbers(packages: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", packages.parent.name)))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
