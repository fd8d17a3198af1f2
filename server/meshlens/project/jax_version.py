"""Finds out which version of JAX a project uses: from its environment, its lock file or its requirements.

Reads only text files; no interpreter is started and JAX is not imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from meshlens.devices.environments import environment_of, environments_of, packages_of
from meshlens.jaxapi.changes import NEWEST
from meshlens.settings import Settings, spell_version

Version = tuple[int, ...]

_LAST_PATCHES: tuple[Version, ...] = (
    (0, 1, 77), (0, 2, 28), (0, 3, 25), (0, 4, 38), (0, 5, 3), (0, 6, 2), (0, 7, 2), (0, 8, 3), (0, 9, 2), (0, 10, 2),
)  # fmt: skip

_JAX = r"(?<![\w.-])jax(?![\w.-])"
_REQUIREMENT = re.compile(
    rf"^[\s\"'\-]*{_JAX}\s*(?:\[[^\]]*\])?\s*\(?\s*(?P<bounds>(?:[<>=!~]=?=?\s*[\w.*+]+\s*,?\s*)+)"
)
_BOUND = re.compile(r"(?P<how>={1,3}|~=|<=?|>=?|!=)\s*(?P<version>\d+(?:\.\d+)*)(?P<any>\.\*)?")
_LOCKED = re.compile(r"^name\s*=\s*\"jax\"\s*$.*?^version\s*=\s*\"([\d.]+)", re.MULTILINE | re.DOTALL)
_PIXI = re.compile(r"/jax-([\d.]+?)-[^/\s]*\.(?:whl|conda|tar\.bz2)|\bname:\s*jax\s*\n\s*version:\s*['\"]?([\d.]+)")
_SOURCE = re.compile(r"^_{1,2}version(?:__)?\s*=\s*[\"'](\d+(?:\.\d+)*)", re.MULTILINE)
_STRING = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_POETRY = re.compile(r"^\s*jax\s*=\s*(?:\{[^}\n]*version\s*=\s*)?[\"']([^\"'\n]+)", re.MULTILINE)
_CONDA = re.compile(r"^dependencies:\s*$", re.MULTILINE)

_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
_TELLING = re.compile(r"requirements|\.lock$|\.toml$|\.ya?ml$|^setup\.(?:py|cfg)$|venv$|^\.pixi$|^\.conda$|^jax$")


@dataclass(frozen=True, slots=True)
class JaxVersion:
    """A version and how we know it.

    Attributes:
        version: as numbers.
        origin: where it was found, for people.
    """

    version: Version
    origin: str


def find_jax_version(root: Path, settings: Settings) -> Version | None:
    """The version of JAX that a project uses, None if nothing in it says.

    Args:
        root: the folder of the project.
        settings: a version that is set there wins.
    """
    found = locate_jax_version(root, settings)
    return found.version if found else None


def locate_jax_version(root: Path, settings: Settings) -> JaxVersion | None:
    """The version of JAX that a project uses and where that was found, None if nothing in it says."""
    if settings.jax_version is not None:
        return JaxVersion(settings.jax_version, "set")
    if (own := _of_its_own_source(root)) is not None:
        return own
    for packages in package_folders(root, settings):
        if (version := _installed(packages)) is not None:
            return JaxVersion(version, f"installed in {_short(packages, root)}")
    for name in (*_LOCKS, "pixi.lock"):
        text = _read(root / name)
        found = (_PIXI if name == "pixi.lock" else _LOCKED).search(text) if text else None
        if found:
            return JaxVersion(_numbers(next(filter(None, found.groups()))), f"locked in {name}")
    return _required(root)


def _of_its_own_source(root: Path) -> JaxVersion | None:
    """The version of a checkout of JAX itself: its tests and examples are written for what lies beside them."""
    if (root / "jax" / "lax").is_dir() and (found := _SOURCE.search(_read(root / "jax" / "version.py"))):
        return JaxVersion(_numbers(found[1]), "the version of the source in jax/version.py")
    return None


def speaks_of_versions(folder: Path) -> bool:
    """Whether a folder holds anything that may say which version of JAX is used, told by the names in it alone."""
    try:
        return any(_TELLING.search(name) for name in os.listdir(folder))
    except OSError:
        return False


def default_jax_version() -> JaxVersion:
    """What is assumed where nothing says: the newest version that the tables know."""
    return JaxVersion(NEWEST, "the newest that is known")


def package_folders(root: Path, settings: Settings) -> Iterator[Path]:
    """Where the environments of a project have their packages; the interpreter that is set goes first.

    Then come `.venv` and `venv`, then what other tools have made for the folder, inside it or elsewhere: conda, pixi,
    poetry, hatch, pipenv.
    """
    seen: set[Path] = set()
    for environment in _environments(root, settings):
        if environment not in seen:
            seen.add(environment)
            yield from packages_of(environment)


def _environments(root: Path, settings: Settings) -> Iterator[Path]:
    if settings.interpreter:
        interpreter = (Path(settings.folder or root) / Path(settings.interpreter).expanduser()).absolute()
        yield interpreter if interpreter.is_dir() else environment_of(str(interpreter))
    yield root / ".venv"
    yield root / "venv"
    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(active).is_relative_to(root):
        yield Path(active)
    yield from (environment.folder for environment in environments_of(root))


def _installed(packages: Path) -> Version | None:
    for folder in packages.glob("jax-*.dist-info"):
        if found := re.fullmatch(r"jax-(\d+(?:\.\d+)*)[\w.+]*\.dist-info", folder.name):
            return _numbers(found[1])
    return None


def _required(root: Path) -> JaxVersion | None:
    """What requirement files and the project's own dependencies pin, exact pins first."""
    capped: JaxVersion | None = None
    for name, lines in _requirement_lines(root):
        for line in lines:
            found = _REQUIREMENT.match(line)
            if not found:
                continue
            exact, below = _bounds(found["bounds"])
            if exact is not None:
                return JaxVersion(exact, f"pinned in {name}")
            if below is not None and (capped is None or below < capped.version):
                capped = JaxVersion(below, f"the newest that {name} allows")
    return capped


def _requirement_lines(root: Path) -> Iterator[tuple[str, Iterable[str]]]:
    patterns = ("*requirements*.txt", "requirements/*.txt")
    names = {path.relative_to(root).as_posix() for pattern in patterns for path in root.glob(pattern)}
    for name in sorted(names, key=lambda name: (name.count("/"), Path(name).name != "requirements.txt", name)):
        yield name, _read(root / name).splitlines()
    if text := _read(root / "pyproject.toml"):
        strings = (first or second for first, second in _STRING.findall(text))
        yield "pyproject.toml", [*strings, *(_from_poetry(bound) for bound in _POETRY.findall(text))]
    for name in ("setup.py", "setup.cfg"):
        if text := _read(root / name):
            yield name, [*(first or second for first, second in _STRING.findall(text)), *text.splitlines()]
    for path in sorted((*root.glob("*.yml"), *root.glob("*.yaml"))):
        text = _read(path)
        if _CONDA.search(text):
            yield path.name, text.splitlines()


def _from_poetry(bound: str) -> str:
    if bound.startswith("^"):
        parts = [int(part) for part in re.findall(r"\d+", bound)]
        above = [parts[0] + 1] if parts[0] else [0, parts[1] + 1] if len(parts) > 1 else [1]
        return f"jax<{'.'.join(map(str, above))}"
    return f"jax{bound}" if bound[:1] in "<>=!~" else f"jax=={bound}"


def _bounds(text: str) -> tuple[Version | None, Version | None]:
    """The version that is pinned, or the newest known one that upper bounds allow."""
    newest: Version | None = None
    for bound in _BOUND.finditer(text):
        how, version = bound["how"], _numbers(bound["version"])
        given = bound["version"].count(".") + 1
        if how in ("==", "===") and not bound["any"]:
            return version, None
        if how in ("=", "=="):
            cap = _newest_below(_next(version, given))
        elif how == "~=":
            cap = _newest_below(_next(version, given - 1))
        elif how == "<":
            cap = _newest_below(version)
        elif how == "<=":
            cap = version
        else:
            continue
        newest = cap if newest is None or cap < newest else newest
    return None, newest if newest is not None and newest < NEWEST else None


def _next(version: Version, given: int) -> Version:
    kept = list(version[: max(given, 1)])
    kept[-1] += 1
    return _numbers(".".join(map(str, kept)))


def _newest_below(bound: Version) -> Version:
    if bound[-1] > 0:
        return (*bound[:-1], bound[-1] - 1)
    below = [patch for patch in (*_LAST_PATCHES, NEWEST) if patch < bound]
    return below[-1] if below else bound


def _numbers(text: str) -> Version:
    numbers = tuple(int(part) for part in text.strip(".").split("."))
    return numbers + (0,) * (3 - len(numbers))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _short(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def spelled(found: JaxVersion) -> str:
    """The version and its origin, for people."""
    return f"{spell_version(found.version)} ({found.origin})"
