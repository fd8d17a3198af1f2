"""Mutation recall: changes one axis name at one end of a pair and checks whether MeshLens reports it.

    python tests/bench/mutate.py DIR [--only NAME …] [--most 40] [--seed 7] [--misses OUT.md] [--resolved] [--more]

DIR holds one checkout per folder.  `mutants.py`, which knows nothing of MeshLens, decides which names are changed;
with `--resolved`, the pairs are those that MeshLens itself sees, which shows how stable its answers are.
A mutant counts as found if an error or warning AX1xx or AX2xx appears on a line where there was none.
With `--more`, other things are changed instead: specs, meshes and reductions (`more_mutants.py`); a reduction that is
left out counts as found if any AX4xx appears, even a hint.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from inprocess import found_in, open_folder
from more_mutants import KINDS, read_more
from mutants import CLASSES, SIDES, Mutant, read_mutants, sample
from resolved import resolved_mutants

from meshlens.project.workspace import Workspace


@dataclass
class Score:
    """The numbers of mutants of one project that were tried and found, by distance and side, and the missed mutants."""

    name: str
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: list[Mutant] = field(default_factory=list)
    seconds: float = 0.0


def measure(root: Path, mutants: Iterable[Mutant], workspace: Workspace) -> Score:
    """Tries mutants of one project."""
    started = time.perf_counter()
    score = Score(root.name)
    before: dict[Path, set[tuple[int, str]]] = {}
    for mutant in mutants:
        key = (mutant.distance, mutant.side)
        score.tried[key] += 1
        if _is_found(workspace, mutant, before):
            score.found[key] += 1
        else:
            score.misses.append(mutant)
    score.seconds = time.perf_counter() - started
    return score


def table(scores: list[Score], sides: tuple[str, ...] = SIDES) -> str:
    """Returns recall by project: found / tried at each side, such as the collective and the binder."""
    heads = [f"{distance}, {side}" for distance in CLASSES for side in sides]
    rows = [f"| project | {' | '.join(heads)} | {' | '.join(f'{name}, %' for name in CLASSES)} | s |"]
    rows.append(f"|---|{'--:|' * (len(heads) + len(CLASSES) + 1)}")
    total = Score("all")
    for score in scores:
        total.tried += score.tried
        total.found += score.found
        total.seconds += score.seconds
    for score in [*scores, total]:
        keys = [(distance, side) for distance in CLASSES for side in sides]
        cells = [f"{score.found[key]}/{score.tried[key]}" if score.tried[key] else "" for key in keys]
        for distance in CLASSES:
            tried = sum(score.tried[distance, side] for side in sides)
            found = sum(score.found[distance, side] for side in sides)
            cells.append(f"{100 * found / tried:.0f}" if tried else "")
        rows.append(f"| {score.name} | {' | '.join(cells)} | {score.seconds:.0f} |")
    return "\n".join(rows)


def missed(scores: list[Score]) -> Iterator[str]:
    """Yields one line for each mutant that was not found."""
    for score in scores:
        for mutant in score.misses:
            line = mutant.path.read_text(errors="replace").splitlines()[mutant.line - 1].strip()
            yield (
                f"- {score.name}, {mutant.distance}, {mutant.side}: {mutant.path}:{mutant.line} "
                f"`{line}` ({mutant.name} → {mutant.text}); other end {mutant.partner}"
            )


def _is_found(workspace: Workspace, mutant: Mutant, before: dict[Path, set[tuple[int, str]]]) -> bool:
    source = mutant.path.read_bytes()
    changed = source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
    spoiled = workspace.with_file(mutant.path, changed)
    for path in dict.fromkeys((*mutant.files, mutant.path)):
        if path not in before:
            before[path] = _telling(workspace, path)
        wanted = ("AX4",) if mutant.side == "reduction" else ("AX1", "AX2")
        if any(code[:3] in wanted for _, code in _telling(spoiled, path) - before[path]):
            return True
    return False


def _telling(workspace: Workspace, path: Path) -> set[tuple[int, str]]:
    return {
        (found.line, found.code)
        for found in found_in(workspace, [path])
        if found.severity != "hint" or found.code.startswith("AX4")
    }


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names of projects")
    parser.add_argument("--most", type=int, default=40, help="mutants of each distance in a project")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--misses", type=Path)
    parser.add_argument("--resolved", action="store_true")
    parser.add_argument("--more", action="store_true")
    arguments = parser.parse_args()
    blind: list[Score] = []
    seen: list[Score] = []
    for root in sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir()):
        if arguments.only and root.name not in arguments.only:
            continue
        try:
            if arguments.more:
                by_kind = [[one for one in read_more(root) if one.side == kind] for kind in KINDS]
                chosen = [one for group in by_kind for one in sample(group, arguments.most, arguments.seed)]
            else:
                chosen = sample(read_mutants(root), arguments.most, arguments.seed)
            workspace = open_folder(root)
            blind.append(measure(root, chosen, workspace))
            if arguments.resolved:
                own = sample(resolved_mutants(workspace), arguments.most, arguments.seed)
                seen.append(measure(root, own, workspace))
        except Exception:
            print(f"{root.name}: {traceback.format_exc(limit=-4)}", file=sys.stderr)
            continue
        print(f"{root.name}: {sum(blind[-1].found.values())}/{sum(blind[-1].tried.values())}", file=sys.stderr)
    sides = KINDS if arguments.more else SIDES
    print("Chosen without MeshLens\n\n" + table([score for score in blind if score.tried], sides))
    if arguments.resolved:
        print("\nPairs that MeshLens sees\n\n" + table([score for score in seen if score.tried]))
    if arguments.misses is not None:
        lines = ["# Chosen without MeshLens", "", *missed(blind), "", "# Pairs that MeshLens sees", "", *missed(seen)]
        arguments.misses.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    _main()
