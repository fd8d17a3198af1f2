"""MeshLens inside the process of a benchmark: opens a folder, replaces a file, lists the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from meshlens.checking.registry import all_rules
from meshlens.project.disk.discover import python_files
from meshlens.project.settings.folder_versions import find_folder_versions
from meshlens.project.settings.jax_version import find_jax_version
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings


@dataclass(frozen=True, order=True)
class Found:
    """A finding as the benchmarks compare it: without columns, which an edit on the line moves."""

    path: Path
    line: int
    code: str
    severity: str
    message: str


def open_folder(root: Path) -> Workspace:
    """Opens a project as `meshlens check` would, without its configuration."""
    files = python_files([root])
    settings = Settings()
    version, folders = find_jax_version(root, settings), find_folder_versions(files, root, settings)
    return open_workspace([root], files=files, jax_version=version).with_folder_versions(folders)


def run_again(before: Workspace, after: Workspace) -> list[Path]:
    """Returns the files read by the roots that ran again: only they can have new findings."""
    known = before.solution.results
    again = [result for key, result in after.solution.results.items() if known.get(key) is not result]
    read = {path for result in again for path, _ in result.deps}
    return [path for path in after.checked if str(path) in read]


def found_in(workspace: Workspace, paths: Iterable[Path]) -> Iterator[Found]:
    """Yields what the rules find in some files; ignore comments and settings have no effect."""
    for path in paths:
        view = workspace.view(path)
        for rule in all_rules():
            for finding in rule.run(view) if rule.default else ():
                severity = finding.severity or rule.severity
                yield Found(
                    path, view.lines.line_of(finding.span.start) + 1, rule.code, severity.value, finding.message
                )
