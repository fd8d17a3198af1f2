"""Chooses fixes that do not overlap, so that they can be applied together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshlens.checking.check import Diagnosed
from meshlens.checking.model import Fix, Safety
from meshlens.text import Edit

SAFE: frozenset[Safety] = frozenset({"safe"})
SAFE_AND_UNSAFE: frozenset[Safety] = frozenset({"safe", "unsafe"})


@dataclass(frozen=True, slots=True)
class Plan:
    """Fixes that can be applied together.

    Attributes:
        edits: edits by file, in order.
        fixed: the findings that they repair.
    """

    edits: dict[Path, tuple[Edit, ...]]
    fixed: tuple[Diagnosed, ...]


def fix_of(diagnosed: Diagnosed, safeties: Collection[Safety]) -> Fix | None:
    """Returns a finding's first fix that is safe enough to apply; None if there is none."""
    return next((fix for fix in diagnosed.finding.fixes if fix.safety in safeties and fix.edits), None)


def plan(found: Iterable[Diagnosed], safeties: Collection[Safety], writable: Collection[Path]) -> Plan:
    """Chooses fixes that can be applied in one round, earlier findings first; other fixes need another round.

    A fix is applied in all its files or in none.

    Args:
        found: the findings.
        safeties: the levels of safety that are allowed.
        writable: the files that may be changed.
    """
    accepted: dict[Path, list[Edit]] = {}
    fixed = []
    for diagnosed in found:
        fix = fix_of(diagnosed, safeties)
        if fix is None or any(edit.path not in writable for edit in fix.edits):
            continue
        near = {edit: _near(accepted.get(edit.path, []), edit.edit) for edit in fix.edits}
        fresh = [edit for edit in fix.edits if edit.edit not in near[edit]]
        if any(_touches(edit.edit, other) for edit in fresh for other in near[edit]):
            continue
        for edit in fresh:
            insort(accepted.setdefault(edit.path, []), edit.edit)
        fixed.append(diagnosed)
    return Plan({path: tuple(edits) for path, edits in accepted.items()}, tuple(fixed))


def _near(accepted: Sequence[Edit], edit: Edit) -> Sequence[Edit]:
    """Returns the edits, from an ordered list without overlaps, that may touch another edit."""
    first = bisect_left(accepted, edit.span.start, key=lambda one: one.span.start)
    last = bisect_right(accepted, edit.span.end, key=lambda one: one.span.start)
    return accepted[max(first - 1, 0) : last]


def _touches(one: Edit, other: Edit) -> bool:
    """Returns whether two edits overlap, or insert at the same place, so that their order would be arbitrary."""
    if one.span.start == one.span.end and other.span.start == other.span.end:
        return one.span.start == other.span.start
    return one.span.start < other.span.end and other.span.start < one.span.end
