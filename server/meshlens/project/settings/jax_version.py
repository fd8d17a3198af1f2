"""Determines the versions of JAX and of libraries that a project uses, from its environment, lock file or requirements.

Reads only text files; no interpreter is started and nothing is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from meshlens.devices.environments import environment_of, environments_of, packages_of
from meshlens.foreign_files import CONFIGURATION, LOCK, read_text
from meshlens.jaxapi.changes import SETTLED, Version, parse_version
from meshlens.project.settings.jax_locks import LOCKS, locked_version
from meshlens.project.settings.jax_requirements import required_version
from meshlens.settings import Settings, spell_version

JAX = "jax"

_PARTS = {JAX: "lax", "flax": "nnx"}
"""The libraries whose versions are read, each with a folder in it that tells its own source apart."""

LIBRARIES = tuple(library for library in _PARTS if library != JAX)
"""The libraries other than JAX whose versions are read."""

_SOURCE = re.compile(r"^_{1,2}version(?:__)?\s*=\s*[\"'](\d+(?:\.\d+)*)", re.MULTILINE)
_TELLING = re.compile(
    r"requirements|\.lock$|\.toml$|\.ya?ml$|^setup\.(?:py|cfg)$|venv$|^\.pixi$|^\.conda$|^(?:jax|flax)$"
)


@dataclass(frozen=True, slots=True)
class JaxVersion:
    """A version and its origin.

    Attributes:
        version: the version as numbers.
        origin: where it was found, in words.
        is_assumed: whether it is assumed because nothing sets it.
    """

    version: Version
    origin: str
    is_assumed: bool = False


def find_jax_version(root: Path, settings: Settings) -> Version | None:
    """Returns the version of JAX that a project uses; None if unknown.

    Args:
        root: the folder of the project.
        settings: the project's settings; a version set there takes precedence.
    """
    found = locate_jax_version(root, settings)
    return found.version if found else None


def locate_jax_version(root: Path, settings: Settings) -> JaxVersion | None:
    """Returns the version of JAX that a project uses and its origin; None if unknown."""
    if settings.jax_version is not None:
        return JaxVersion(settings.jax_version, "set")
    found = locate_version(JAX, root, settings)
    return JaxVersion(*found) if found is not None else None


def locate_version(library: str, root: Path, settings: Settings) -> tuple[Version, str] | None:
    """Returns the version of a library in a project's files, and its origin in words; None if unknown."""
    if (own := _of_its_own_source(library, root)) is not None:
        return own
    for packages in package_folders(root, settings):
        if (version := _installed(library, packages)) is not None:
            return version, f"installed in {_short(packages, root)}"
    for name in LOCKS:
        if (locked := locked_version(library, name, read_text(root / name, LOCK))) is not None:
            return locked, f"locked in {name}"
    return required_version(library, root)


def _of_its_own_source(library: str, root: Path) -> tuple[Version, str] | None:
    """Returns the version of a checkout of the library itself, whose tests and examples use the source next to them."""
    if not (root / library / _PARTS[library]).is_dir():
        return None
    name = f"{library}/version.py"
    found = _SOURCE.search(read_text(root / name, CONFIGURATION))
    version = parse_version(found[1]) if found is not None else None
    return (version, f"the version of the source in {name}") if version is not None else None


def speaks_of_versions(folder: Path) -> bool:
    """Returns whether a folder has files that may set a library's version, judging by their names alone."""
    try:
        return any(_TELLING.search(name) for name in os.listdir(folder))
    except OSError:
        return False


def default_jax_version() -> JaxVersion:
    """Returns the version to use if the project sets none: that of the active environment, or else an assumed one."""
    found = active_version(JAX)
    return (
        JaxVersion(*found) if found else JaxVersion(SETTLED, "assumed, because no version was found", is_assumed=True)
    )


def active_version(library: str) -> tuple[Version, str] | None:
    """Returns the version of a library in the active environment, and its origin in words; None if it has none."""
    active = os.environ.get("VIRTUAL_ENV")
    for packages in packages_of(Path(active)) if active else ():
        if (version := _installed(library, packages)) is not None:
            return version, f"installed in the active environment, {active}"
    return None


def package_folders(root: Path, settings: Settings) -> Iterator[Path]:
    """Yields the package folders of a project's environments, starting with that of a configured interpreter.

    Then come `.venv`, `venv`, an active environment inside the project, and environments that conda, pixi, poetry,
    hatch or pipenv created for the project, inside it or elsewhere.
    """
    seen: set[Path] = set()
    for environment in _environments(root, settings):
        if environment not in seen:
            seen.add(environment)
            yield from packages_of(environment)


def _environments(root: Path, settings: Settings) -> Iterator[Path]:
    if settings.interpreter:
        interpreter = (Path(settings.folder or root) / os.path.expanduser(settings.interpreter)).absolute()
        yield interpreter if os.path.isdir(interpreter) else environment_of(str(interpreter))
    yield root / ".venv"
    yield root / "venv"
    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(active).is_relative_to(root):
        yield Path(active)
    yield from (environment.folder for environment in environments_of(root))


def _installed(library: str, packages: Path) -> Version | None:
    for folder in packages.glob(f"{library}-*.dist-info"):
        found = re.fullmatch(rf"{library}-(\d+(?:\.\d+)*)[\w.+]*\.dist-info", folder.name)
        if found is not None and (version := parse_version(found[1])) is not None:
            return version
    return None


def _short(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def spelled(found: JaxVersion) -> str:
    """Returns the version and its origin in words."""
    return f"{spell_version(found.version)} ({found.origin})"
