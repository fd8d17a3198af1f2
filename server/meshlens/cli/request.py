"""Converts paths and options to a request: files in groups that share one configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from meshlens.caches.folder import OpenCache, cache_of
from meshlens.cli.detected import with_detected
from meshlens.project.disk.discover import files_below
from meshlens.project.disk.patterns import matches
from meshlens.project.settings.configuration import (
    Configuration,
    find_configuration,
    is_project,
    project_root,
    read_configuration,
)
from meshlens.project.settings.folder_versions import FolderVersions, find_folder_versions
from meshlens.project.settings.jax_version import JaxVersion, default_jax_version, locate_jax_version
from meshlens.settings import Settings

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are checked together, under one configuration.

    Attributes:
        root: the folder of the project.
        configuration: the contents of its configuration file.
        settings: the configuration with the command line's options; the version of JAX is always set.
        jax: the version of JAX and its origin.
        folder_versions: the versions of libraries that folders set for their files.
        files: the files, sorted.
        texts: replacements for files on disk, from stdin.
        others: the other known files of the project, for analyzing code that imports these files.
    """

    root: Path
    configuration: Configuration
    settings: Settings
    jax: JaxVersion
    folder_versions: FolderVersions
    files: tuple[Path, ...]
    texts: Mapping[Path, bytes]
    others: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """The request of one run.

    Attributes:
        groups: the groups to check.
        errors: one line for each problem with a path or a configuration.
    """

    groups: tuple[Group, ...]
    errors: tuple[str, ...]


def absolute(path: str) -> Path:
    """Returns the absolute path without `.` and `..`; links are not resolved."""
    return Path(os.path.abspath(path))


def shown(path: Path) -> str:
    """Returns a path in the form used in messages."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def ask(
    paths: Sequence[str],
    options: Mapping[str, Any],
    exclude: tuple[str, ...] = (),
    texts: Mapping[Path, bytes] | None = None,
    open_cache: OpenCache = cache_of,
) -> Request:
    """Returns the request: the files, and the settings for each.

    Args:
        paths: paths from the command line.
        options: the settings fields given on the command line.
        exclude: patterns from the command line, relative to the working directory.
        texts: replacements for files on disk; these files are checked, too.
        open_cache: returns the caches of a project.
    """
    errors: list[str] = []
    wanted: dict[tuple[Path, Path | None], list[Path]] = {}
    seen: set[Path] = set()
    configurations: dict[Path | None, Configuration] = {}
    for path in map(absolute, paths):
        if not os.path.lexists(path):
            errors.append(f"{shown(path)}: no such file or folder")
            continue
        if not path.is_dir() and not path.is_file():
            errors.append(f"{shown(path)}: {'a broken link' if path.is_symlink() else 'not a file or a folder'}")
            continue
        own = find_configuration(path if path.is_dir() else path.parent)
        roots: dict[Path | None, Path] = {}
        for file, nested in _files(path, own, configurations, exclude):
            if file not in seen:
                seen.add(file)
                home = nested or own
                if home not in roots:
                    roots[home] = _root(path, home)
                wanted.setdefault((roots[home], home), []).append(file)
    for file in texts or {}:
        home = find_configuration(file.parent)
        wanted.setdefault((_root(file.parent, home), home), []).append(file)
    named = set(map(os.path.abspath, paths))
    groups = []
    for (root, home), files in wanted.items():
        configuration = _configuration(home, configurations)
        if configuration.errors:
            continue
        group, trouble = _group(root, configuration, options, sorted(files), texts or {}, open_cache)
        groups.append(group if str(root) in named else replace(group, others=_others(group, exclude)))
        errors += [trouble] if trouble else []
    for configuration in configurations.values():
        errors.extend(configuration.errors)
    return Request(tuple(groups), tuple(dict.fromkeys(errors)))


def with_options(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """Returns settings with the command line's options, which extend the lists of rules but replace `select`."""
    changes = {key: value for key, value in options.items() if value not in (None, ())}
    select = changes.get("select", ())
    if select:
        # The project's `ignore` does not override a rule that the command line selects explicitly.
        changes["ignore"] = tuple(one for one in settings.ignore if one not in select) + changes.get("ignore", ())
    elif "ignore" in changes:
        changes["ignore"] = settings.ignore + changes["ignore"]
    if "extend_select" in changes:
        changes["extend_select"] = settings.extend_select + changes["extend_select"]
    return replace(settings, **changes)


def _root(path: Path, home: Path | None) -> Path:
    """Returns the project's folder: the one with its configuration or another marker, or else the working directory."""
    if home is not None:
        return home.parent
    root = project_root(path)
    here = Path.cwd()
    return here if not is_project(root) and root.is_relative_to(here) and here != Path.home() else root


def _group(
    root: Path,
    configuration: Configuration,
    options: Mapping[str, Any],
    files: Sequence[Path],
    texts: Mapping[Path, bytes],
    open_cache: OpenCache,
) -> tuple[Group, str | None]:
    settings, trouble = with_detected(with_options(configuration.settings, options), root, options, open_cache)
    folders = find_folder_versions(files, root, settings)
    jax = locate_jax_version(root, settings) or default_jax_version()
    settings = replace(settings, jax_version=jax.version)
    return Group(root, configuration, settings, jax, folders, tuple(files), texts), trouble


def _others(group: Group, exclude: tuple[str, ...]) -> tuple[Path, ...]:
    """Returns the files of a project that were not named; none for a folder that is unlikely to be a project."""
    here = Path.cwd()
    if not is_project(group.root) and (group.root != here or here in (Path.home(), Path(here.anchor))):
        return ()
    excludes = [(here, exclude), (group.root, group.settings.exclude)]
    given = set(group.files)
    return tuple([path for path, _ in files_below(group.root, excludes) if path not in given])


def _configuration(path: Path | None, known: dict[Path | None, Configuration]) -> Configuration:
    if path not in known:
        known[path] = read_configuration(path, shown(path) if path else "")
    return known[path]


def _files(
    path: Path, own: Path | None, known: dict[Path | None, Configuration], exclude: tuple[str, ...]
) -> Iterable[tuple[Path, Path | None]]:
    if path.is_file():
        return [(path, None)]
    excludes = [(Path.cwd(), exclude)]
    if own is not None:
        excludes.append((own.parent, _configuration(own, known).settings.exclude))
    return [
        (file, nested)
        for file, nested in files_below(path, excludes)
        if nested is None or not _excluded_by(_configuration(nested, known), file)
    ]


def _excluded_by(configuration: Configuration, file: Path) -> bool:
    exclude = configuration.settings.exclude
    if not exclude or configuration.path is None:
        return False
    return matches(exclude, file.relative_to(configuration.path.parent).as_posix())
