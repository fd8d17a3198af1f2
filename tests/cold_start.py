"""Opens sources as if for the first time and lists what is found in them, with which every later state must agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from meshlens.checking.check import Diagnosed, check
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings

ROOT = Path("/project")


def opened(sources: Mapping[Path, bytes]) -> Workspace:
    """Returns a workspace of these texts, for eight devices; nothing is read from the disk."""
    return open_workspace([ROOT], files=list(sources), jax_version=(0, 10, 2), devices=8, overlay=sources)


def found(workspace: Workspace, paths: Iterable[Path]) -> list[Diagnosed]:
    """Returns the findings in those of the files that the workspace has, in the order of the files."""
    known = [path for path in paths if str(path) in workspace.files]
    return [item for path in known for item in check(workspace.view(path), Settings())]
