"""Reads the version of JAX or another library from a project's requirements.

These are pip's files, `pyproject.toml`, `setup.py`, `setup.cfg` and `environment.yml`.
If bounds are more than comparisons with releases, `packaging` decides what they allow, as in pip. `setup.py` is not
run, and YAML is read line by line, because finding `jax>=0.4` needs no parser.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from meshlens.foreign_files import CONFIGURATION, read_text
from meshlens.jaxapi import released
from meshlens.jaxapi.changes import NEWEST, SETTLED, Version, parse_version, spell_version
from meshlens.project.disk.toml_text import Table, parse_toml

_LAST_PATCHES: tuple[Version, ...] = ((0, 1, 77), (0, 2, 28), (0, 3, 25), (0, 4, 17))
"""For each series, the last release that is older than the releases in the tables."""

RELEASES: tuple[Version, ...] = (
    *((*last[:-1], patch) for last in _LAST_PATCHES for patch in range(last[-1] + 1)),
    *(tuple(int(part) for part in release.split(".")) for release in released.RELEASES.split()),
)

_STRING = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_CONDA = re.compile(r"^dependencies:[ \t]*\r?$", re.MULTILINE)
_CONDA_BOUND = re.compile(r"(?:^|,)[ \t]*=[ \t]*([0-9][0-9.]*)(?:\.\*)?[^,]*")
_COMPARISON = re.compile(r"(?P<how>[<>=!]=|[<>])[ \t]*(?P<version>[0-9]+(?:\.[0-9]+){0,2})")
_COMPARES: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LONGEST_LINE = 1000
_LONGEST_BOUNDS = 120
_MOST_BOUNDS = 100
_MOST_FILES = 100
_DEEPEST = 20


@cache
def _requires(library: str) -> re.Pattern[str]:
    return re.compile(rf"[\s\"'-]*{library}(?![\w.-])[ \t]*(?:\[[^\]]*\])?[ \t]*(?P<bounds>\(?[<>=!~][^;#@\\\"']*)")


def required_version(library: str, root: Path) -> tuple[Version, str] | None:
    """Returns the version implied by a project's requirements, and how they imply it; None if they imply none.

    A pinned version wins. Otherwise, the result for JAX is the newest allowed version up to `SETTLED`, because the
    project may not support later ones; if all allowed versions are later, the result is the oldest of them.
    For other libraries, whose releases are in no table, the result is the oldest version that the bounds name.

    Args:
        library: the library.
        root: the folder of the project.
    """
    capped: tuple[Version, str] | None = None
    for name, bounds in islice(_requirements(library, root), _MOST_BOUNDS):
        exact, meant = _meant(library, bounds)
        if exact is not None:
            return exact, f"pinned in {name}"
        if meant is not None and (capped is None or meant < capped[0]):
            capped = meant, f"allowed in {name}"
    return capped


def _requirements(library: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yields the bounds on a library, each with its file."""
    patterns = ("*requirements*.txt", "requirements/*.txt")
    names = {path.relative_to(root).as_posix() for pattern in patterns for path in root.glob(pattern)}
    order = sorted(names, key=lambda name: (name.count("/"), Path(name).name != "requirements.txt", name))
    for name in order[:_MOST_FILES]:
        yield from ((name, bounds) for bounds in _in_lines(library, read_text(root / name, CONFIGURATION).splitlines()))
    text = read_text(root / "pyproject.toml", CONFIGURATION)
    project = parse_toml(text) if library in text else {}
    if isinstance(project, dict):
        yield from (("pyproject.toml", bounds) for bounds in _in_project(library, project))
    for name in ("setup.py", "setup.cfg"):
        text = read_text(root / name, CONFIGURATION)
        strings = (first or second for first, second in _STRING.findall(text))
        yield from ((name, bounds) for bounds in _in_lines(library, [*strings, *text.splitlines()]))
    for path in sorted((*root.glob("*.yml"), *root.glob("*.yaml")))[:_MOST_FILES]:
        text = read_text(path, CONFIGURATION)
        if library in text and _CONDA.search(text):
            lines = _in_lines(library, text.splitlines())
            yield from ((path.name, _CONDA_BOUND.sub(r"==\1.*", bounds)) for bounds in lines)


def _in_lines(library: str, lines: Iterable[str]) -> Iterator[str]:
    """Yields the bounds in the lines that require a library."""
    for line in lines:
        if library in line and len(line) <= _LONGEST_LINE and (found := _requires(library).match(line)):
            # pip's options may follow, such as hashes.
            yield found["bounds"].partition(" --")[0].strip("() \t,")


def _in_project(library: str, project: Table) -> Iterator[str]:
    """Yields the bounds on a library in a `pyproject.toml`: in dependencies, dependency groups, the tables of tools."""
    own = project.get("project")
    own = own if isinstance(own, dict) else {}
    tables = [own.get("dependencies"), own.get("optional-dependencies"), project.get("dependency-groups")]
    waiting: list[tuple[object, int]] = [(one, 0) for one in (project.get("tool"), *reversed(tables))]
    while waiting:
        value, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(value, list):
            yield from _in_lines(library, [one for one in value if isinstance(one, str)])
            waiting += ((one, depth + 1) for one in reversed(value) if isinstance(one, (dict, list)))
        elif isinstance(value, dict):
            said = value.get(library)
            said = said.get("version") if isinstance(said, dict) else said
            if isinstance(said, str):
                yield _from_poetry(said.strip())
            waiting += ((one, depth + 1) for one in reversed(value.values()) if isinstance(one, (dict, list)))


def _from_poetry(bound: str) -> str:
    """Converts a bound from the syntax of poetry and pixi to that of pip, which has no `^` and a different `~`."""
    how, version = bound[:1], parse_version(bound[1:].strip())
    if how in ("^", "~") and bound[1:2] != "=" and version is not None:
        given = bound.count(".") + 1
        first = next((place for place, number in enumerate(version, 1) if number), given)
        kept = min(given, first if how == "^" else 2)
        above = (*version[: kept - 1], version[kept - 1] + 1)
        return f">={spell_version(version)},<{spell_version(above)}"
    return bound if how in ("<", ">", "=", "!", "~") else "" if bound == "*" else f"=={bound}"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of a requirement.

    Attributes:
        said: each operator and version.
        allow: returns whether a release satisfies all of them.
    """

    said: tuple[tuple[str, str], ...]
    allow: Callable[[Version], bool]


def _plain_bounds(bounds: str) -> _Bounds | None:
    """Parses bounds that only compare with releases, such as `>=0.4.30, <0.8`; returns None for any other bounds."""
    found = [_COMPARISON.fullmatch(part.strip()) for part in bounds.split(",")]
    said = tuple([(one["how"], one["version"]) for one in found if one is not None])
    if len(said) < len(found):
        return None
    asked = [(_COMPARES[how], parse_version(version)) for how, version in said]
    return _Bounds(said, lambda release: all(fits(release, version) for fits, version in asked))


def _any_bounds(bounds: str) -> _Bounds:
    """Parses bounds of any kind with `packaging`.

    Raises:
        ValueError: the bounds are invalid.
    """
    # Importing `packaging` takes a fifth of the time of a check in which nothing has changed.
    from packaging.specifiers import SpecifierSet

    allowed = SpecifierSet(bounds)
    said = tuple([(one.operator, one.version) for one in allowed])
    return _Bounds(said, lambda release: allowed.contains(spell_version(release), prereleases=True))


def _meant(library: str, bounds: str) -> tuple[Version | None, Version | None]:
    """Returns the pinned version and the one that other bounds imply; at most one of them is not None.

    For JAX, the second is the newest allowed version up to `SETTLED`. It is None if a version is pinned, or if the
    bounds allow both `SETTLED` and the newest release. If all allowed releases are newer than `SETTLED`, it is the
    oldest of them. For other libraries, it is the newest lower bound.
    """
    if len(bounds) > _LONGEST_BOUNDS or not any(how in bounds for how in ("=", "<", ">", "~")):
        return None, None
    try:
        allowed = _plain_bounds(bounds) or _any_bounds(bounds)
    except ValueError:
        return None, None
    for how, version in allowed.said:
        if how in ("==", "===") and not version.endswith(".*"):
            return parse_version(version), None
    if library != "jax":
        lower = [version.removesuffix(".*") for how, version in allowed.said if how.startswith((">", "~", "=="))]
        return None, max(filter(None, map(parse_version, lower)), default=None)
    fit = [one for one in RELEASES if allowed.allow(one)]
    if not fit:
        unknown = (parse_version(version) for how, version in allowed.said if how.startswith((">", "~")))
        return None, max((one for one in unknown if one is not None and one > NEWEST), default=None)
    settled = [one for one in fit if one <= SETTLED]
    if fit[-1] == NEWEST and settled[-1:] == [SETTLED]:
        return None, None
    return None, settled[-1] if settled else fit[0]
