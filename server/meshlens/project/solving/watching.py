"""Solves a workspace again after an edit of the watched statement: only that statement runs, wherever it ran before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from meshlens.axes.interpreter import CONSTRUCTS
from meshlens.axes.jax.skipping import mentions_reductions
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.roots import RootResult
from meshlens.axes.runs.spots import (
    MOST_MORE_WORK,
    WATCHED,
    Left,
    Moment,
    Watched,
    leaves_the_same,
    old_records,
    run_alone,
    spliced,
)
from meshlens.axes.worth.interest import Interest
from meshlens.facts.mentioned import names_of
from meshlens.facts.model import FileFacts, Shape
from meshlens.facts.nodes import Constant, For, FunctionDef, If, Name, Pass, Walrus, While
from meshlens.facts.paths import Spot, statement_at, with_statement
from meshlens.project.solving.changes import BlockKey

RootKey = tuple[str, str]

_RULES_OF_DERIVATIVES = frozenset({"defvjp", "defjvp", "defjvps", "def_vmap", "defvmap"})
"""Methods that change the behavior of their object wherever it is used."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A watched statement.

    Attributes:
        path: its file.
        spot: the statement in its function.
        shape: the function's block.
        moments: its executions, by root; None for a root in which it cannot be replaced.
        around: cached data about the rest of the function.
    """

    path: str
    spot: Spot
    shape: Shape
    moments: Mapping[RootKey, tuple[Moment, ...] | None]
    around: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def statement(self) -> Shape:
        """Returns the statement in the version that ran last."""
        found: Shape = statement_at(self.shape, self.spot.path)
        return found

    def names(self) -> frozenset[str]:
        """Returns the names that the rest of the function mentions, as in `names_of`."""
        return self._once("names", lambda: names_of(self._rest()))

    def variables(self, facts: FileFacts) -> frozenset[str]:
        """Returns the variables that the rest of the function, or a function nested in it, reads or sets."""
        inner = self.spot.key + "."
        shapes = [block.shape for key, block in facts.blocks.items() if key.startswith(inner)]
        return self._once("variables", lambda: _variables([self._rest(), *shapes]))

    def left_no_records(self) -> bool:
        """Returns whether the statement left no record in any root."""
        return all(ran is not None and all(one.begun == one.ended for one in ran) for ran in self.moments.values())

    def may_repeat(self) -> bool:
        """Returns whether the statement may run again in the same frame."""
        node: Any = self.shape
        repeats = False
        for index in self.spot.path:
            node = node[index]
            repeats = isinstance(node, (For, While)) or (repeats and not isinstance(node, FunctionDef))
        return repeats

    def may_be_skipped(self) -> bool:
        """Returns whether the statement determines whether the branch that it is in reduces over devices."""
        node: Any = self.shape
        rest: Any = self._rest()
        for index in self.spot.path:
            is_branch = isinstance(node, If)
            node, rest = node[index], rest[index]
            if is_branch and not mentions_reductions(rest):
                return True
        return False

    def _rest(self) -> Shape:
        found: Shape = with_statement(self.shape, self.spot.path, Pass("pass", self.spot.first))
        return found

    def _once(self, key: str, work_out: Any) -> frozenset[str]:
        if key not in self.around:
            self.around[key] = work_out()
        found: frozenset[str] = self.around[key]
        return found


@dataclass(frozen=True, slots=True)
class Typed:
    """The result of running a watched statement alone.

    Attributes:
        fresh: the roots whose results changed.
        records: the removed records of each root, then the added ones.
        watch: the watch on the current statement.
    """

    fresh: Mapping[RootKey, RootResult]
    records: Mapping[RootKey, tuple[Records, ...]]
    watch: Watch


def watched_in(facts: Mapping[str, FileFacts], paths: Iterable[str]) -> dict[BlockKey, tuple[Spot, Shape]]:
    """Returns the statements being edited in the given files, with the blocks in which they are watched."""
    found: dict[BlockKey, tuple[Spot, Shape]] = {}
    for path in paths:
        spot = facts[path].spot if path in facts else None
        if spot is None:
            continue
        shape = facts[path].blocks[spot.key].shape
        statement = statement_at(shape, spot.path)
        found[(path, spot.key)] = spot, with_statement(shape, spot.path, Watched(WATCHED, statement.site, statement))
    return found


def watch_of(
    facts: Mapping[str, FileFacts],
    block: BlockKey,
    moments: Mapping[RootKey, tuple[Moment, ...] | None],
) -> Watch | None:
    """Returns the watch on the statement being edited in a block, once the roots have run."""
    spot = facts[block[0]].spot
    assert spot is not None
    return Watch(block[0], spot, facts[block[0]].blocks[spot.key].shape, moments)


def type_again(
    watch: Watch,
    world: Any,
    facts: Mapping[str, FileFacts],
    results: Mapping[RootKey, RootResult],
    dirty: Iterable[RootKey],
) -> Typed | None:
    """Runs a statement in place of the watched one; returns None if more than the statement must run again.

    Args:
        watch: the watched statement.
        world: the current workspace.
        facts: the current facts of all files.
        results: the results of the roots.
        dirty: the roots that read the block.
    """
    spot = facts[watch.path].spot
    assert spot is not None
    shape = facts[watch.path].blocks[spot.key].shape
    statement = statement_at(shape, spot.path)
    if _speaks_beyond(statement) or _speaks_beyond(watch.statement):
        return None
    if mentions_reductions(statement) != mentions_reductions(watch.statement) and watch.may_be_skipped():
        return None
    unread = None
    if not watch.may_repeat():
        set_here = _variables([statement]) | _variables([watch.statement])
        unread = set_here - watch.variables(facts[watch.path])
    fresh: dict[RootKey, RootResult] = {}
    changed: dict[RootKey, tuple[Records, ...]] = {}
    moments = dict(watch.moments)
    for key in dirty:
        ran = moments.get(key)
        if ran is None:
            return None
        if not ran:
            continue
        made: list[Left] = []
        more = 0
        for moment in ran:
            left = run_alone(CONSTRUCTS, world, key, moment, statement)
            if left is None or not leaves_the_same(moment, left, unread):
                return None
            if left.calls != moment.calls and not results[key].has_calls_left:
                return None
            more += left.work - moment.work
            made.append(left)
        if more and (more > MOST_MORE_WORK or not results[key].has_calls_left):
            return None
        old = results[key]
        deps = old.deps.union(*[left.deps for left in made])
        relied = old.relied.union(*[left.relied for left in made])
        if not relied <= results.keys():
            return None
        found = spliced(old.records, ran, made)
        if found is None and len(deps) == len(old.deps) and len(relied) == len(old.relied):
            continue
        records, now = found if found is not None else (old.records, ran)
        changed[key] = (old_records(old.records, ran), *[left.records for left in made])
        moments[key] = now
        fresh[key] = replace(old, records=records, deps=deps, relied=relied)
    return Typed(fresh, changed, Watch(watch.path, spot, shape, moments, watch.around))


def reaches_alike(before: Interest, now: Interest, block: BlockKey) -> bool:
    """Returns whether calling a block is exactly as worthwhile as before."""
    return before.reach(*block) == now.reach(*block)


def _speaks_beyond(statement: Shape) -> bool:
    return not names_of(statement).isdisjoint(_RULES_OF_DERIVATIVES)


def _variables(shapes: Iterable[Any]) -> frozenset[str]:
    """Returns the variables that shapes mention in any way."""
    found: set[str] = set()
    waiting: list[Any] = list(shapes)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, tuple) or isinstance(node, Constant):
            continue
        if isinstance(node, (Walrus, Name)) and len(node) > 2:
            found.add(node.name)
        waiting.extend(node)
    return frozenset(found)
