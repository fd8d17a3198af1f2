"""Repairs what can be repaired, round by round, until nothing changes; writes nothing itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from meshlens.checking.fixes import plan
from meshlens.checking.model import Safety
from meshlens.cli.checking import Checked, check_workspace
from meshlens.cli.printing.progress import Progress
from meshlens.cli.request import Group, shown
from meshlens.project.workspace import Workspace
from meshlens.text import Edit, applied

_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Repaired:
    """The state after repairs.

    Attributes:
        checked: the files as they would be, and what is still found in them.
        contents: the new bytes of the files that change.
        before: their old bytes.
        fixed: how many findings were repaired, by code.
        problems: one line for each thing that went wrong.
    """

    checked: Checked
    contents: Mapping[Path, bytes]
    before: Mapping[Path, bytes]
    fixed: Mapping[str, int]
    problems: tuple[str, ...] = ()


def repair(checked: Checked, group: Group, safeties: Collection[Safety], bar: Progress) -> Repaired:
    """Applies fixes and checks again, at most ten times.

    A fix that would break a file's syntax is taken back and left alone.

    Args:
        checked: the files and what was found in them.
        group: how to check them again; only its files are changed.
        safeties: which fixes may be applied.
        bar: shows how far it has come.
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
            problems += [f"{shown(path)}: skipped its fixes, which would break it" for path in sorted(broken)]
            continue
        fixed.update(diagnosed.code for diagnosed in step.fixed)
        checked = check_workspace(workspace, group, bar)
    contents = {path: checked.workspace.files[str(path)].raw for path in before}
    changed = {path: content for path, content in contents.items() if content != before[path]}
    return Repaired(checked, changed, {path: before[path] for path in changed}, dict(fixed), tuple(problems))


def difference(repaired: Repaired) -> str:
    """The repairs as one patch."""
    return "".join(
        line
        for path in sorted(repaired.contents)
        for line in patch(shown(path), repaired.before[path], repaired.contents[path])
    )


def _writable(checked: Checked, group: Group) -> Iterable[Path]:
    return [path for path in group.files if str(path) in checked.workspace.files]


def _edited(workspace: Workspace, edits: Mapping[Path, tuple[Edit, ...]]) -> tuple[Workspace, set[Path]]:
    """The workspace after edits, and the files that they would break."""
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


def patch(name: str, before: bytes, after: bytes) -> Iterable[str]:
    """The lines of a patch that makes one text of another."""
    old, new = (text.decode("utf-8", "replace").split("\n") for text in (before, after))
    old, new = ([f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1]) for lines in (old, new))
    for line in unified_diff(old, new, f"a/{name}", f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
