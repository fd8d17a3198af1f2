"""Refuses a refactoring whose result has a new error, or a new finding about varying values or a pmap inside a jit."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from meshlens.checking.check import Diagnosed, check
from meshlens.checking.model import Severity
from meshlens.project.workspace import Workspace
from meshlens.refactoring.model import Proposal, Refused
from meshlens.settings import Settings
from meshlens.text import Edit, applied

_SPEAKS_AGAINST = re.compile("AX4..|AX602")
"""The rules about values that vary over an axis where they must not, and about a pmap inside a jit."""
CODE = "new-finding"


def written(workspace: Workspace, edits: Mapping[Path, Iterable[Edit]]) -> dict[Path, bytes]:
    """Returns the texts of files after edits that do not overlap."""
    found = {}
    for path, made in edits.items():
        file = workspace.files[str(path)]
        found[path] = file.notebook.with_edits(list(made)) if file.notebook else applied(file.source, made)
    return found


def veto_of(workspace: Workspace, proposal: Proposal) -> Refused | None:
    """Returns a refusal if an offer's result would have a new error or a new finding of `_SPEAKS_AGAINST`; else None.

    Args:
        workspace: holds the files.
        proposal: the offer.
    """
    edits: dict[Path, list[Edit]] = defaultdict(list)
    for path, edit in proposal.edits():
        if str(path) in workspace.files:
            edits[path].append(edit)
    texts = written(workspace, edits)
    return veto(proposal.title, workspace, workspace.with_files(texts), texts)


def veto(title: str, before: Workspace, after: Workspace, paths: Iterable[Path]) -> Refused | None:
    """Returns a refusal if a refactoring introduces an error or a finding of `_SPEAKS_AGAINST`; else None.

    Args:
        title: what the refactoring does.
        before: the files as they are.
        after: the same files, rewritten.
        paths: the files that it rewrites.
    """
    for path in paths:
        found = _against(after, path)
        known = Counter(one.code for one in _against(before, path)) if found else Counter()
        for one in found:
            known[one.code] -= 1
            if known[one.code] < 0:
                return Refused(title, CODE, f"the result would trigger {one.code}: {one.finding.message}")
    return None


def _against(workspace: Workspace, path: Path) -> list[Diagnosed]:
    # Whoever converts a program may pass any options to it.
    found = check(replace(workspace.view(path), defaults=None), Settings())
    return [one for one in found if one.severity is Severity.ERROR or _SPEAKS_AGAINST.fullmatch(one.code)]
