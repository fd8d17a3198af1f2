"""Checks a rename by analyzing the program with the new name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.facts.extract import extract
from meshlens.ide.naming.occurrences import Place, place_of
from meshlens.project.solving.resolving import solve_again
from meshlens.project.solving.solution import Solution, solve
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, apply

Block = tuple[str, tuple[Place, ...]]


def left_behind(view: FileView, old: str, new: str, edits: Iterable[FileEdit]) -> Block | None:
    """Returns a use that would keep the old name while only the new name is bound; None if there is none.

    The analysis is limited, so a second run may follow a route that the first run did not.

    Args:
        view: a file of the workspace.
        old: the current name of the axis.
        new: its new name.
        edits: the edits that rename it.
    """
    after = _after(view, edits)
    for key, result in after.results.items():
        if view.solution.results.get(key) is result:
            continue
        for use in result.records.uses:
            if literal_name(use.name) == old and _is_lost(use, old, new):
                origin = use.name.origin if isinstance(use.name, Const) else None
                places = tuple(
                    place_of(view, site) for site in (origin, use.call) if site is not None and _is_known(view, site)
                )
                return f'"{old}" here may be this axis or another one', places
    return None


def _is_lost(use: AxisUse, old: str, new: str) -> bool:
    env = use.context.env
    return old not in env.names and new in env.names


def _is_known(view: FileView, site: Site) -> bool:
    facts = view.solution.facts.get(site.path)
    block = facts.blocks.get(site.block) if facts is not None else None
    return block is not None and 2 * site.index < len(block.spans)


def _after(view: FileView, edits: Iterable[FileEdit]) -> Solution:
    changes: dict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        changes[str(edit.path)].append(edit.edit)
    solution = view.solution
    changed = {path: extract(apply(view.texts[path], wanted)) for path, wanted in changes.items()}
    facts = {**solution.facts, **changed}
    again = solve_again(solution, facts, changed)
    return again if again is not None else solve(facts, solution.index, solution.assumed, solution)
