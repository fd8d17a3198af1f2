"""Which Python runs the code of a folder; found by files alone, no process is started."""

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
# Programs that choose a Python by the folder they are started in, or open a shop.
_NO_PYTHONS = re.compile(r"[\\/](?:\.?pyenv[\\/].*shims|\.?asdf[\\/]shims|mise[\\/]shims|WindowsApps)[\\/]?$")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and how it was found.

    Attributes:
        path: as it is to be started; an environment is told by this path, so no link in it is followed.
        origin: for people: "given", "set", "the editor", "VIRTUAL_ENV", ".venv", "poetry", "PATH".
        is_wanted: whether a user named it, so that no other is taken in its place.
    """

    path: str
    origin: str
    is_wanted: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """Everything that is said about the interpreter, other than by files.

    Attributes:
        setting: the setting `interpreter`: a Python or the folder of an environment.
        setting_folder: where a relative one begins: the folder of the configuration.
        editor: what the editor says.
        given: what the command line names; a relative one begins in the working folder.
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
    """The Python that runs the code of a folder: the one that is named, or the likeliest that has JAX.

    Args:
        folder: the folder of the project.
        wishes: what the user names.
        environ: the environment that the user's programs see.
        untrusted: folders that nothing may be run from.

    Returns:
        None if there is none at all.
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
    """The Pythons that may run the code of a folder, the likeliest first.

    That is: what the command line names, what is set, what the editor says, the active environment, the environments
    of the folder and of those above it, conda's base, and PATH.  In an untrusted workspace only what this machine says
    by itself counts, and of that nothing that leads into the workspace: no setting, as it may come from there, nothing
    that lies in a folder of it or above it, and nothing that a file there names, such as an environment of conda.
    """
    seen: set[str] = set()
    for one in _candidates(folder, wishes, environ, untrusted):
        if one.path not in seen and not interpreter_leads_into(one.path, untrusted):
            seen.add(one.path)
            yield one


def places_of(folder: Path, wishes: Wishes = Wishes(), *, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The files and folders that change when an environment of a folder is made, or a package installed in one.

    An environment lies beside the files of a folder, so that the folder itself changes with a new one.
    """
    found = [*_upwards(folder)]
    for one in find_interpreters(folder, wishes, environ=environ):
        environment = environment_of(one.path)
        found += [Path(one.path), environment / "pyvenv.cfg", *packages_of(environment)]
    return tuple(dict.fromkeys(found))


def _has_jax(python: str) -> bool:
    """Told by metadata; a link outside every environment leads to where the packages are."""
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
    """The Python that a path means, which may also be that of an environment; a bare name is one on PATH."""
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
    """Returns the folder and those above it up to the root of its repository; without a repository the folder alone."""
    places = (folder, *folder.parents)
    roots = (number for number, place in enumerate(places) if os.path.exists(place / ".git"))
    return places[: next(roots, 0) + 1]


def _named_by_files(folder: Path, environ: Mapping[str, str]) -> Iterator[Interpreter]:
    """Yields what pdm and pyenv have written down for a folder."""
    path = read_text(folder / ".pdm-python", NOTE).strip()
    if os.path.isabs(path) and os.path.exists(path):
        yield Interpreter(path, "pdm")
    version = read_text(folder / ".python-version", NOTE).split()
    yield from _of_pyenv(version[0] if version else "", environ)


def _of_pyenv(version: str, environ: Mapping[str, str]) -> Iterator[Interpreter]:
    """The Python behind pyenv's shims: of this version, or the one that holds everywhere."""
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
