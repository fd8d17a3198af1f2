"""Renames every axis of real projects to a new name and checks them again: nothing new may be found.

    python tests/bench/rename.py DIR [--only NAME …] [--json OUT]

DIR holds one checkout per folder.  In addition to the findings, every pair of a binder and a collective that reading
the source with `ast` alone suggests must have been renamed together, or not at all; such a pair may not be a real one,
so those that a rename split are listed for a person to read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from inprocess import found_in, open_folder, run_again
from mutants import literal_pairs

from meshlens.axes.domain.values import Site
from meshlens.ide.naming.rename import Refused, rename
from meshlens.project.axis_symbols import AxisSymbol, axis_symbols
from meshlens.project.workspace import Workspace
from meshlens.text import Edit, apply

_FRESH = "renamed_axis"


@dataclass
class Score:
    """The result of renaming the axes of one project.

    Attributes:
        name: the project.
        renamed: how many axes got the new name.
        edits: how many literals changed.
        refused: `reason: place` for the other axes.
        new: findings that were not there before.
        split: pairs with one end that was renamed and one that was not.
    """

    name: str
    renamed: int = 0
    edits: int = 0
    refused: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)


def measure(root: Path) -> Score:
    """Renames every axis of a project that a literal names and a binder binds, one at a time."""
    workspace = open_folder(root)
    pairs = [(_end(one), _end(other)) for one, other in literal_pairs(root)]
    score = Score(root.name)
    before = _found(workspace, "", workspace.checked)
    for symbol in axis_symbols(workspace.solution).every():
        if (symbol.binders or symbol.meshes) and symbol.literals - symbol.unwritten:
            _rename(workspace, symbol, before, pairs, score, root)
    return score


def _rename(
    workspace: Workspace,
    symbol: AxisSymbol,
    before: Counter[tuple[Path, int, str, str]],
    pairs: list[tuple[tuple[Path, int], tuple[Path, int]]],
    score: Score,
    root: Path,
) -> None:
    site = min(symbol.literals - symbol.unwritten)
    view = workspace.view(Path(site.path))
    result = rename(view, view.span(site).start, _FRESH)
    where = _line(workspace, site, root)
    if isinstance(result, Refused):
        at = ", ".join(f"{place.path.relative_to(root)}:{_line_of(workspace, place)}" for place in result.places)
        score.refused.append(f'{result.message}: {at} (the axis "{symbol.name}" of {where})')
        return
    score.renamed += 1
    score.edits += len(result.edits)
    edits: dict[Path, list[Edit]] = defaultdict(list)
    for edit in result.edits:
        edits[edit.path].append(edit.edit)
    after = workspace.with_files({path: _edited(workspace, path, changes) for path, changes in edits.items()})
    changed = {(edit.path, edit.edit.span.start) for edit in result.edits}
    for one, other in pairs:
        if (one in changed) != (other in changed):
            ends = " and ".join(
                f"{path.relative_to(root)}:{_line_at(workspace, path, at)}" for path, at in (one, other)
            )
            score.split.append(f'"{symbol.name}" of {where}: {ends}')
    for (path, line, code, message), _ in (_found(after, symbol.name, run_again(workspace, after)) - before).items():
        score.new.append(f'{path.relative_to(root)}:{line}: {code} {message} (the axis "{symbol.name}" of {where})')


def _edited(workspace: Workspace, path: Path, changes: list[Edit]) -> bytes:
    file = workspace.files[str(path)]
    return file.notebook.with_edits(changes) if file.notebook is not None else apply(file.source, changes)


def _found(workspace: Workspace, old: str, paths: Iterable[Path]) -> Counter[tuple[Path, int, str, str]]:
    """Counts the findings by place and text; after a rename, with the old name in place of the new one."""
    return Counter(
        (one.path, one.line, one.code, re.sub(rf"\b{_FRESH}\b", old, one.message))
        for one in found_in(workspace, paths)
        if one.code != "AX901"
    )


def _end(axis: object) -> tuple[Path, int]:
    source, written = axis.source, axis.written  # type: ignore[attr-defined]
    return source.path, source.span(written)[0]


def _line(workspace: Workspace, site: Site, root: Path) -> str:
    view = workspace.view(Path(site.path))
    return f"{view.path.relative_to(root)}:{view.lines.line_of(view.span(site).start) + 1}"


def _line_of(workspace: Workspace, place: object) -> int:
    return _line_at(workspace, place.path, place.span.start)  # type: ignore[attr-defined]


def _line_at(workspace: Workspace, path: Path, offset: int) -> int:
    return workspace.files[str(path)].source.count(b"\n", 0, offset) + 1


def table(scores: list[Score]) -> str:
    """Returns the Markdown table of all projects."""
    rows = ["| project | renamed | literals | refused | new findings | pairs split |", "|---|--:|--:|--:|--:|--:|"]
    for one in scores:
        numbers = (one.renamed, one.edits, len(one.refused), len(one.new), len(one.split))
        rows.append(f"| {one.name} | {' | '.join(map(str, numbers))} |")
    reasons = Counter(re.sub(r'".*?"', '"…"', line.partition(": ")[0]) for one in scores for line in one.refused)
    rows += ["", *(f"- refused {count} times: {reason}" for reason, count in reasons.most_common())]
    return "\n".join(rows)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of projects")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    scores = []
    for root in sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir()):
        if not arguments.only or root.name in arguments.only:
            scores.append(measure(root))
            print(table(scores[-1:]), file=sys.stderr)
    print(table(scores))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(score) for score in scores], indent=1) + "\n")


if __name__ == "__main__":
    _main()
