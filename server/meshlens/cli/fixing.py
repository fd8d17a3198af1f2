"""Applies fixes round by round until nothing changes; writes no files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import diff_bytes, unified_diff
from pathlib import Path

from meshlens.checking.fixes import plan
from meshlens.checking.model import Safety
from meshlens.cli.checking import Checked, check_workspace
from meshlens.cli.printing.progress import Progress
from meshlens.cli.request import Group, shown
from meshlens.project.disk.python_text import as_its_lines_say
from meshlens.project.workspace import Workspace
from meshlens.text import Edit, applied

_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Repaired:
    """The state after repairs.

    Attributes:
        checked: the repaired files with their remaining findings.
        contents: the new bytes of the files that change.
        before: their old bytes.
        fixed: the number of repaired findings, by code.
        problems: one line for each problem.
    """

    checked: Checked
    contents: Mapping[Path, bytes]
    before: Mapping[Path, bytes]
    fixed: Mapping[str, int]
    problems: tuple[str, ...] = ()


def repair(checked: Checked, group: Group, safeties: Collection[Safety], bar: Progress) -> Repaired:
    """Applies fixes and checks again, at most ten times.

    Fixes that would break a file's syntax are skipped, and so are all later fixes in that file.

    Args:
        checked: the files and their findings.
        group: the group, for checking again; only its files are changed.
        safeties: the allowed safety levels.
        bar: the progress bar.
    """
    before = {path: checked.workspace.files[str(path)].raw for path in _writable(checked, group)}
    fixed: Counter[str] = Counter()
    problems: list[str] = []
    untouchable: set[Path] = set()
    for _ in range(_ROUNDS):
        step = plan(checked.found, safeties, before.keys() - untouchable)
        if not step.fixed:
            break
        workspace, broken = _edited(checked.workspace, step.edits)
        if broken:
            untouchable |= broken
            problems += [f"{shown(path)}: fixes skipped, because they would break the file" for path in sorted(broken)]
            continue
        fixed.update(diagnosed.code for diagnosed in step.fixed)
        checked = check_workspace(workspace, group, bar)
    contents = {path: checked.workspace.files[str(path)].raw for path in before}
    changed = {path: content for path, content in contents.items() if content != before[path]}
    return Repaired(checked, changed, {path: before[path] for path in changed}, dict(fixed), tuple(problems))


def difference(repaired: Repaired) -> bytes:
    """Returns the repairs as one patch."""
    return b"".join(patch(path, repaired.before[path], repaired.contents[path]) for path in sorted(repaired.contents))


def _writable(checked: Checked, group: Group) -> Iterable[Path]:
    return [path for path in group.files if str(path) in checked.workspace.files]


def _edited(workspace: Workspace, edits: Mapping[Path, tuple[Edit, ...]]) -> tuple[Workspace, set[Path]]:
    """Returns the workspace after edits, and the files that the edits would break."""
    broken = set()
    for path, changes in edits.items():
        file = workspace.files[str(path)]
        try:
            if file.notebook is not None:
                content = file.notebook.with_edits(changes)
            else:
                content = applied(file.raw, changes)
            workspace = workspace.with_file(path, content)
        except ValueError:
            broken.add(path)
            continue
        if len(workspace.files[str(path)].facts.broken) > len(file.facts.broken):
            broken.add(path)
    return workspace, broken


def patch(path: Path, before: bytes, after: bytes) -> bytes:
    """Returns a patch from one text of a file to another, in the file's encoding.

    Args:
        path: the file.
        before: its text, as UTF-8.
        after: its changed text, as UTF-8.
    """
    texts = (before, after) if path.suffix == ".ipynb" else (as_its_lines_say(before), as_its_lines_say(after))
    old, new = ([line + b"\n" for line in text.split(b"\n")] for text in texts)
    old, new = ([*lines[:-1], lines[-1][:-1]] if lines[-1] != b"\n" else lines[:-1] for lines in (old, new))
    name = shown(path).lstrip("/").encode()
    lines = diff_bytes(unified_diff, old, new, b"a/" + name, b"b/" + name)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)
