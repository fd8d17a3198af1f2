"""Updates findings after an edit: shifts those that the edit cannot affect and recomputes the rest.

Records tie blocks together, and a finding depends only on the records of tied blocks. So a rule runs again on the
records of the changed blocks and all blocks tied to them, as if there were no other records.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from meshlens.axes.runs.dependence import is_block
from meshlens.axes.runs.roots import RootResult
from meshlens.checking.entered_meshes import may_change_uses
from meshlens.checking.kept_findings import Checked, Sight, checked, sight_of
from meshlens.checking.model import Diagnosed, Finding, Fix
from meshlens.checking.registry import Rule
from meshlens.checking.typed_statement import Typed, typed_in
from meshlens.facts.model import Block, FileFacts
from meshlens.project.solving.changes import changed_blocks
from meshlens.project.solving.links import BlockKey, all_blocks, only
from meshlens.project.solving.sorting import Sorted
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span, difference

_CONCERNS_ALL = re.compile(rb"(?i)xla|fake_pmap|devices|register_")
"""Matches lines that may matter anywhere in their file: devices, and registrations of pytree classes."""


def found_again(
    before: Checked,
    view: FileView,
    rules: tuple[Rule, ...],
    run: Callable[[Rule, FileView], Iterable[Diagnosed]],
) -> Checked | None:
    """Returns the current findings; None if they must be computed from scratch.

    Args:
        before: the findings before the edit.
        view: the file now.
        rules: the rules.
        run: runs one rule.
    """
    solution, path = view.solution, str(view.path)
    stretch = difference(before.source, view.source)
    stale = _stale(before, view, stretch)
    if stale is None:
        return None
    by = len(view.source) - len(before.source)
    if may_change_uses(before.facts, solution.facts):
        return None
    if _CONCERNS_ALL.search(_lines_around(before.source, stretch)) or _CONCERNS_ALL.search(
        _lines_around(view.source, Span(stretch.start, stretch.end + by))
    ):
        return None
    same = solution.results is before.results
    typed = typed_in(before, view, stale) if same else None
    if not stale or (typed is not None and typed.says_the_same()):
        found = _moved_all(before, view, before.found, stretch, by)
        if found is not None or not stale:
            return checked(view, found, before.sight if same else None) if found is not None else None
    seen = before.sight if same and before.sight is not None and before.sight.stale == stale else sight_of(view, stale)
    sight = seen.of(view)
    asked = [rule for rule in rules if typed is None or not typed.is_nothing_to(rule)]
    codes = {rule.code for rule in asked}
    concerned = {key for name, key in seen.blocks if name == path}
    dropped, kept = _split(before.found, before.facts[path], concerned, codes)
    reported = {one.code for one in dropped}
    fresh: list[Diagnosed] = []
    narrow: FileView | None = None
    again: set[str] = set()
    for rule in asked:
        if rule.reads == "workspace":
            again.add(rule.code)
        elif rule.reads == "names":
            narrow = narrow or _narrowed(sight, seen, concerned, typed)
            if rule.code in reported or any(True for _ in run(rule, narrow)):
                again.add(rule.code)
        else:
            fresh += run(rule, sight)
    for rule in asked:
        if rule.code in again:
            fresh += run(rule, view)
    moved = _moved_all(before, view, [one for one in kept if one.code not in again], stretch, by)
    return checked(view, (*moved, *fresh), seen) if moved is not None else None


def _stale(before: Checked, view: FileView, stretch: Span) -> set[BlockKey] | None:
    """Returns the blocks whose text, shape or records changed; None if unknown, or if everything may have changed.

    Args:
        before: the findings before the edit.
        view: the file now.
        stretch: the span of the old text that was replaced.
    """
    solution, path = view.solution, str(view.path)
    stale: set[BlockKey] = set()
    if path not in before.facts:
        return None
    if solution.results is not before.results:
        old, new = before.results, solution.results
        if old.get((path, "")) is not new.get((path, "")):
            return None
        step = solution.step if solution.step is not None and solution.step.before is old else None
        if step is not None and step.records is not None:
            stale.update(*[all_blocks(one) for changed in step.records.values() for one in changed])
        else:
            for root in step.fresh if step is not None else _changed_roots(old, new):
                for result in (old.get(root), new.get(root)):
                    if result is not None:
                        stale.update(solution.links.blocks_of(root, result.records))
        facts = solution.facts
        if before.facts.keys() != facts.keys():
            return None
        paths = [name for name, file in before.facts.items() if facts[name] is not file]
        changed = changed_blocks(before.facts, facts, paths)
        stale.update(filter(is_block, changed))
    old_facts = before.facts[path]
    only_blanks = _changes_only_blanks(before.source, view.source, stretch)
    for key in view.facts.touched_since(old_facts):
        was, block = old_facts.blocks.get(key), view.facts.blocks.get(key)
        if block is None or (was is not None and was.content is block.content):
            continue
        if was is None or not only_blanks or was.shape != block.shape:
            stale.add((path, key))
    return stale


def _changes_only_blanks(before: bytes, now: bytes, stretch: Span) -> bool:
    """Returns whether an edit inserts or removes only spaces."""
    removed = before[stretch.start : stretch.end]
    inserted = now[stretch.start : stretch.end + len(now) - len(before)]
    return not (removed + inserted).strip(b" ")


def _changed_roots(old: Mapping[BlockKey, RootResult], new: Mapping[BlockKey, RootResult]) -> Iterable[BlockKey]:
    """Returns the roots that ran again, appeared or disappeared."""
    changed = [root for root, result in new.items() if old.get(root) is not result]
    return [*changed, *(old.keys() - new.keys())]


def _lines_around(source: bytes, stretch: Span) -> bytes:
    start = source.rfind(b"\n", 0, stretch.start) + 1
    end = source.find(b"\n", stretch.end)
    return source[start : end if end >= 0 else len(source)]


def _narrowed(view: FileView, seen: Sight, keys: set[str], typed: Typed | None) -> FileView:
    """Returns the view with only the relevant blocks and the imports.

    Args:
        view: the view.
        seen: the part of the view to keep.
        keys: the blocks that the change may affect.
        typed: the only affected statement, if no records changed.
    """
    facts = view.facts
    if typed is not None and typed.is_quiet:
        keys = {typed.key[1]}
        records = only(view.records, frozenset([typed.key]))
        narrow = Sorted({}, {}, {str(view.path): records})
        view = replace(view, solution=replace(view.solution, sorted=narrow, _once={}))
    top = tuple([key for key in facts.top if key in keys or key in seen.imports])
    blocks = {key: facts.blocks[key] for key in (*top, *keys) if key in facts.blocks}
    return replace(view, facts=replace(facts, top=top, blocks=blocks))


def _split(
    found: tuple[Diagnosed, ...], facts: FileFacts, keys: set[str], codes: set[str]
) -> tuple[list[Diagnosed], list[Diagnosed]]:
    """Returns the findings of the given rules in the given blocks, and the other findings."""
    if not any(one.code in codes for one in found):
        return [], list(found)
    blocks = sorted(facts.blocks.values(), key=_start)
    starts = [block.start for block in blocks]
    inside: list[Diagnosed] = []
    outside: list[Diagnosed] = []
    for one in found:
        held = one.code in codes and _holds(blocks, starts, one.finding.span, keys)
        (inside if held else outside).append(one)
    return inside, outside


def _start(block: Block) -> int:
    return block.start


def _holds(blocks: list[Block], starts: list[int], span: Span, keys: set[str]) -> bool:
    at = bisect_right(starts, span.start) - 1
    while at >= 0:
        block = blocks[at]
        if block.holds(span):
            # Use the innermost block, since a class is a different block from its methods.
            return block.key in keys
        at -= 1
    return False


def _moved_all(
    before: Checked, view: FileView, found: Iterable[Diagnosed], stretch: Span, by: int
) -> tuple[Diagnosed, ...] | None:
    """Returns findings moved to their places after an edit; None if one of them may have lost its place."""
    moved: list[Diagnosed] = []
    for one in found:
        at = _moved(before, view, one, stretch, by)
        if at is None:
            return None
        moved.append(at)
    return tuple(moved)


def _moved(before: Checked, view: FileView, one: Diagnosed, stretch: Span, by: int) -> Diagnosed | None:
    finding = one.finding
    places = [(view.path, finding.span), *[(related.path, related.span) for related in finding.related]]
    places += [(edit.path, edit.edit.span) for fix in finding.fixes for edit in fix.edits]
    same = True
    for path, span in places:
        if path != view.path:
            if before.facts.get(str(path)) is not view.solution.facts.get(str(path)):
                return None
        elif span.end > stretch.start:
            if span.start < stretch.end:
                return None
            same = False
    if same or not by:
        return one
    shift = _Shift(view.path, stretch.end, by)
    return replace(
        one,
        finding=Finding(
            shift.span(view.path, finding.span),
            finding.message,
            tuple([_moved_fix(fix, shift) for fix in finding.fixes]),
            tuple([replace(one, span=shift.span(one.path, one.span)) for one in finding.related]),
            finding.severity,
            finding.unused,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Shift:
    path: Path
    behind: int
    by: int

    def span(self, path: Path, span: Span) -> Span:
        if path != self.path or span.start < self.behind:
            return span
        return Span(span.start + self.by, span.end + self.by)


def _moved_fix(fix: Fix, shift: _Shift) -> Fix:
    edits = [FileEdit(one.path, Edit(shift.span(one.path, one.edit.span), one.edit.text)) for one in fix.edits]
    return replace(fix, edits=tuple(edits))
