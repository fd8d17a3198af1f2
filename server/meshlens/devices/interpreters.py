"""Finds the Python that runs a folder's code; only reads files, and starts no process."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.devices.child_environment import search_path
from meshlens.devices.environments import (
    environment_of,
    environments_of,
    has_package,
    is_environment,
    packages_of,
    python_of,
)
from meshlens.devices.trust import interpreter_leads_into
from meshlens.foreign_files import NOTE, read_text

_NAMES = ("python.exe",) if sys.platform == "win32" else ("python3", "python")
# Folders whose programs choose a Python by the working directory, or open a store instead of starting one.
_NO_PYTHONS = re.compile(r"[\\/](?:\.?pyenv[\\/].*shims|\.?asdf[\\/]shims|mise[\\/]shims|WindowsApps)[\\/]?$")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and how it was found.

    Attributes:
        path: the path that starts it; links are not resolved, because the path identifies an environment.
        origin: how it was found: "given", "set", "the editor", "VIRTUAL_ENV", ".venv", "poetry", "PATH".
        is_wanted: whether a user named it, so that no other Python is chosen instead.
    """

    path: str
    origin: str
    is_wanted: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """The configured interpreters.

    Attributes:
        setting: the setting `interpreter`: a Python or the folder of an environment.
        setting_folder: the folder of the configuration, to which a relative path in the setting is relative.
        editor: the editor's Python.
        given: the command line's Python; a relative path is relative to the working directory.
    """

    setting: str | None = None
    setting_folder: str = ""
    editor: str | None = None
    given: str | None = None


def choose_interpreter(
    folder: Path,
    wishes: Wishes = Wishes(),
    *,
    environ: Mapping[str, str] = os.environ,
    untrusted: tuple[Path, ...] = (),
) -> Interpreter | None:
    """Returns the Python that runs a folder's code: the one that the user named, or the most likely one with JAX.

    Args:
        folder: the folder of the project.
        wishes: the configured interpreters.
        environ: the environment of the user's programs.
        untrusted: folders from which nothing may be run.

    Returns:
        The Python, which may lack JAX if none has it; None if there is no Python at all.
    """
    found = tuple(find_interpreters(folder, wishes, environ=environ, untrusted=untrusted))
    if found and found[0].is_wanted:
        return found[0]
    return next((one for one in found if _has_jax(one.path)), found[0] if found else None)


def find_interpreters(
    folder: Path,
    wishes: Wishes = Wishes(),
    *,
    environ: Mapping[str, str] = os.environ,
    untrusted: tuple[Path, ...] = (),
) -> Iterator[Interpreter]:
    """Yields the Pythons that may run the code of a folder, most likely first.

    The order is: the command line, the setting, the editor, the active environment, the environments of the folder and
    its parents, conda's base, PATH, and pyenv's global version. For an untrusted workspace, only interpreters that come
    from the user or this machine are considered, and only if their paths do not lead into the workspace. Thus the
    setting, which may come from the workspace, is ignored, as is everything in the workspace's folders and their
    parents, and everything that a file there names, such as a conda environment.
    """
    seen: set[str] = set()
    for one in _candidates(folder, wishes, environ, untrusted):
        if one.path not in seen and not interpreter_leads_into(one.path, untrusted):
            seen.add(one.path)
            yield one


def places_of(folder: Path, wishes: Wishes = Wishes(), *, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Returns the paths that change when an environment for a folder is created or a package is installed in one.

    The folder itself is included, because it changes when an environment is created in it.
    """
    found = [*_upwards(folder)]
    for one in find_interpreters(folder, wishes, environ=environ):
        environment = environment_of(one.path)
        found += [Path(one.path), environment / "pyvenv.cfg", *packages_of(environment)]
    return tuple(dict.fromkeys(found))


def _has_jax(python: str) -> bool:
    """Returns whether a Python has JAX, judging by metadata; follows a link that is not in an environment."""
    environment = environment_of(python)
    if has_package(environment, "jax"):
        return True
    return not is_environment(environment) and has_package(environment_of(os.path.realpath(python)), "jax")


def _candidates(
    folder: Path, wishes: Wishes, environ: Mapping[str, str], untrusted: tuple[Path, ...]
) -> Iterator[Interpreter]:
    places = search_path(environ, untrusted)
    named = (
        (wishes.given, os.getcwd(), "given"),
        (None if untrusted else wishes.setting, wishes.setting_folder or str(folder), "set"),
        (wishes.editor, str(folder), "the editor"),
    )
    yield from (Interpreter(_named(value, begin, places), origin, True) for value, begin, origin in named if value)
    yield from _active(environ, "VIRTUAL_ENV")
    if environ.get("CONDA_DEFAULT_ENV") != "base":
        yield from _active(environ, "CONDA_PREFIX")
    for place in () if untrusted else _upwards(folder):
        yield from (Interpreter(one.python, one.origin) for one in environments_of(place, environ))
        yield from _named_by_files(place, environ)
    yield from _active(environ, "CONDA_PREFIX")
    for entry in places:
        if not _NO_PYTHONS.search(entry):
            yield from (
                Interpreter(path, "PATH") for name in _NAMES if os.access(path := os.path.join(entry, name), os.X_OK)
            )
    yield from _of_pyenv("global", environ)


def _named(value: str, folder: str, places: tuple[str, ...]) -> str:
    """Returns the Python that a value names: by its path, the folder of its environment, or a bare name on PATH."""
    path = Path(folder, os.path.expanduser(value))
    if os.path.isdir(path):
        return python_of(path) or str(path)
    bare = os.path.basename(value) == value and not os.path.lexists(path)
    found = (os.path.join(place, value) for place in places if bare)
    return next((program for program in found if os.access(program, os.X_OK)), str(path))


def _active(environ: Mapping[str, str], variable: str) -> Iterator[Interpreter]:
    folder = environ.get(variable)
    if folder and os.path.isabs(folder) and (python := python_of(Path(folder))):
        yield Interpreter(python, variable)


def _upwards(folder: Path) -> tuple[Path, ...]:
    """Returns a folder and its parents up to the root of its repository, or only the folder outside repositories."""
    places = (folder, *folder.parents)
    roots = (number for number, place in enumerate(places) if os.path.exists(place / ".git"))
    return places[: next(roots, 0) + 1]


def _named_by_files(folder: Path, environ: Mapping[str, str]) -> Iterator[Interpreter]:
    """Yields the interpreters that pdm and pyenv have recorded for a folder."""
    path = read_text(folder / ".pdm-python", NOTE).strip()
    if os.path.isabs(path) and os.path.exists(path):
        yield Interpreter(path, "pdm")
    version = read_text(folder / ".python-version", NOTE).split()
    yield from _of_pyenv(version[0] if version else "", environ)


def _of_pyenv(version: str, environ: Mapping[str, str]) -> Iterator[Interpreter]:
    """Yields the Pythons that pyenv's shims may run for a version; "global" means the version set globally."""
    home = environ.get("HOME") or os.path.expanduser("~")
    root = Path(environ.get("PYENV_ROOT") or Path(home, ".pyenv"))
    if version == "global":
        named = read_text(root / "version", NOTE).split()
        version = named[0] if named else ""
    if re.fullmatch(r"[A-Za-z0-9_.+-]{1,200}", version) and version.strip("."):
        kept = root / "versions"
        exact = (
            [kept / version]
            if (kept / version).is_dir()
            else sorted(kept.glob(f"{version}.*"), key=_numbers, reverse=True)
        )
        yield from (Interpreter(python, f"pyenv {place.name}") for place in exact if (python := python_of(place)))


def _numbers(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", folder.name)))
