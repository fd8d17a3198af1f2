"""The statement being typed, before and after an edit that changed nothing else."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from meshlens.checking.kept_findings import Checked
from meshlens.checking.registry import Rule
from meshlens.checking.spelled_names import Written, spells_alike
from meshlens.facts.model import FileFacts, Shape
from meshlens.facts.nodes import AnnAssign, Assign, AugAssign, ExpressionStatement, Hole, Raise, Return
from meshlens.facts.paths import Spot, statement_at
from meshlens.project.solving.links import BlockKey
from meshlens.project.view import FileView

_WITH_VALUE = (ExpressionStatement, Assign, AnnAssign, AugAssign, Return, Raise)


@dataclass(frozen=True, slots=True)
class Typed:
    """A statement before and after an edit.

    Attributes:
        was, now: its shape and its text.
        is_quiet: whether no record refers to it, before or after.
        key: the function that contains it.
    """

    was: Written
    now: Written
    is_quiet: bool
    key: BlockKey

    def says_the_same(self) -> bool:
        """Returns whether no rule can see the edit: it changed unreadable text, or a comment after the statement."""
        if self.was.shape != self.now.shape:
            return False
        return self.was.text == self.now.text or (self.is_quiet and _is_hole(self.now.shape))

    def is_nothing_to(self, rule: Rule) -> bool:
        """Returns whether the edit certainly leaves a rule's findings unchanged."""
        if not self.is_quiet:
            return False
        return rule.reads == "places" or (rule.reads == "names" and spells_alike(self.was, self.now))


def typed_in(before: Checked, view: FileView, stale: AbstractSet[BlockKey]) -> Typed | None:
    """Returns the statement that contains an edit; None if more than that changed.

    Args:
        before: the findings before the edit.
        view: the file now.
        stale: the blocks whose text, shape or records changed.
    """
    watch, spot, path = view.solution.watch, view.facts.spot, str(view.path)
    if watch is None or spot is None or watch.path != path or watch.spot.place is not spot.place:
        return None
    key = (path, spot.key)
    if view.solution.results is not before.results or stale != {key}:
        return None
    old = before.facts[path]
    if old.spot is None or old.spot.place is not spot.place:
        return None
    was, now = _written(old, old.spot, before.source), _written(view.facts, spot, view.source)
    return Typed(was, now, watch.left_no_records(), key)


def _written(facts: FileFacts, spot: Spot, source: bytes) -> Written:
    block = facts.blocks[spot.key]
    shape = statement_at(block.shape, spot.path)
    start, end = block.span(shape.site)
    return Written(shape, source[start:end])


def _is_hole(shape: Shape) -> bool:
    return isinstance(shape, _WITH_VALUE) and isinstance(shape.value, Hole)
