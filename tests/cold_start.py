"""Sources opened as if for the first time, and what is found in them: what any later state has to agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from meshlens.checking.check import Diagnosed, check
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings

ROOT = Path("/project")


def opened(sources: Mapping[Path, bytes]) -> Workspace:
    """A workspace of these texts, for eight devices; nothing is read from the disk."""
    return open_workspace([ROOT], files=list(sources), jax_version=(0, 10, 2), devices=8, overlay=sources)


def found(workspace: Workspace, paths: Iterable[Path]) -> list[Diagnosed]:
    """What is found in those files that the workspace has, in their order."""
    known = [path for path in paths if str(path) in workspace.files]
    return [item for path in known for item in check(workspace.view(path), Settings())]
