"""Checks one group of files in its project, using cached facts that are still valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshlens.caches.folder import Cache
from meshlens.checking.check import Diagnosed, check
from meshlens.checking.model import Severity
from meshlens.cli.printing.progress import Progress
from meshlens.cli.printing.report import Places, Reported, Unparsed
from meshlens.cli.printing.terminal import complain
from meshlens.cli.request import Group, shown
from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import read_source
from meshlens.project.imports import imported_files, importing_files
from meshlens.project.notebooks.notebook import Notebook
from meshlens.project.settings.devices import target_of
from meshlens.project.syntax_errors import syntax_fault
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.text import Span

_MOST_ELSEWHERE = 50
MOST_AROUND = 1_000_000
"""Maximum total size, in bytes, of the files that are read because they import the checked files."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The results for one group.

    Attributes:
        workspace: the files.
        found: the findings.
        problems: one line for each file that could not be read.
        failures: one line for each internal error.
        unparsed: the checked files that have syntax errors.
        unread: the number of files that could not be read at all.
    """

    workspace: Workspace
    found: tuple[Diagnosed, ...]
    problems: tuple[str, ...]
    failures: tuple[str, ...] = ()
    unparsed: tuple[Unparsed, ...] = ()
    unread: int = 0


def open_group(group: Group, bar: Progress, cache: Cache | None) -> Workspace:
    """Reads the files of a group.

    Args:
        group: the group.
        bar: the progress bar.
        cache: the cache of facts, or None.
    """
    bar.stage("Reading", None)

    def text_of(path: Path) -> bytes | Unread:
        return group.texts[path] if path in group.texts else read_source(path)

    importing = importing_files(group.files, group.others, group.root, MOST_AROUND)
    if not importing.is_complete:
        complain(
            f"{shown(group.root)}: some files that import the checked ones were not read; "
            "check the whole project to include them"
        )
    files = [*group.files, *importing.files]
    return open_workspace(
        [group.root],
        files=[*files, *imported_files(files, [group.root], text_of)],
        jax_version=group.settings.jax_version,
        devices=target_of(group.settings.devices, None),
        overlay=group.texts,
        cache=cache,
    ).with_folder_versions(group.folder_versions)


def check_workspace(workspace: Workspace, group: Group, bar: Progress) -> Checked:
    """Runs the rules over every file of a group."""
    readable = [path for path in group.files if str(path) in workspace.files]
    bar.stage("Following axis names", None)
    found: list[Diagnosed] = []
    started = False
    for path in readable:
        view = workspace.view(path)
        if not started:
            bar.stage("Checking", len(readable))
            started = True
        found.extend(check(view, group.settings))
        bar.advance()
    problems = tuple(f"{shown(path)}: {message}" for path, message in workspace.problems)
    failures = _failures(workspace) if readable else ()
    unread = len(group.files) - len(readable)
    return Checked(workspace, tuple(found), problems, failures, tuple(_unparsed(workspace, readable)), unread)


def found_elsewhere(checked: Checked, group: Group) -> Iterator[Diagnosed]:
    """Yields the errors and warnings of other files that the program reaches through the checked ones.

    Nothing is searched for if the checked files have findings of their own, or if there are many other files.
    """
    workspace, named = checked.workspace, set(group.files)
    others = [Path(path) for path in workspace.files if Path(path) not in named]
    if len(others) > _MOST_ELSEWHERE or any(one.severity is not Severity.HINT for one in checked.found):
        return
    for path in others:
        for one in check(workspace.view(path), group.settings):
            if one.severity is not Severity.HINT and any(place.path in named for place in one.finding.related):
                yield one


def _unparsed(workspace: Workspace, paths: Iterable[Path]) -> Iterator[Unparsed]:
    places = places_in(workspace)
    for path in paths:
        file = workspace.files[str(path)]
        fault = syntax_fault(file.source, file.facts)
        if fault is not None:
            place = places.place(path, Span(fault.offset, fault.offset))
            yield Unparsed(str(path), place.cell, place.start[0], fault.reason)


def _failures(workspace: Workspace) -> tuple[str, ...]:
    return tuple([one.line(shown(Path(one.path))) for one in workspace.solution.failures.values()])


def places_in(workspace: Workspace) -> Places:
    """Returns a converter from spans in the files of a workspace to places."""

    def source_of(path: Path) -> tuple[bytes, Notebook | None]:
        file = workspace.files[str(path)]
        return file.source, file.notebook

    return Places(source_of)


def reported(workspace: Workspace, found: Sequence[Diagnosed]) -> list[Reported]:
    """Returns findings in the form shown to users."""
    places = places_in(workspace)
    return [places.reported(diagnosed) for diagnosed in found]
