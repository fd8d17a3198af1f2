"""Solves a workspace again after an edit of a few blocks: only the roots that read them run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush

from meshlens.axes.domain.classes import inner_of
from meshlens.axes.domain.labels import forget_sets
from meshlens.axes.domain.values import Class, Site
from meshlens.axes.runs.dependence import is_block
from meshlens.axes.runs.programs import PROGRAM
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.roots import RootResult, run_left_function, run_left_map, run_program, run_root
from meshlens.axes.runs.run import ModuleState
from meshlens.axes.runs.spots import Moment
from meshlens.axes.worth.interest import Interest
from meshlens.facts.mentioned import names_of
from meshlens.facts.model import FileFacts
from meshlens.facts.paths import statement_at
from meshlens.project.solving.changes import BlockKey, changed_blocks, with_worth
from meshlens.project.solving.ledgers import AsOfTurn
from meshlens.project.solving.running import left_name, sites_of
from meshlens.project.solving.solution import RootKey, Solution, Step
from meshlens.project.solving.sorting import resorted
from meshlens.project.solving.watching import reaches_alike, type_again, watch_of, watched_in
from meshlens.project.solving.world import SolvingWorld

_MOST_EARLIER = 2
_MOST_UNDONE = 3


def solve_again(before: Solution, facts: Mapping[str, FileFacts], paths: Iterable[str]) -> Solution | None:
    """Returns the solution after the facts of the given files changed; None if it must be computed from scratch.

    Args:
        before: the previous solution.
        facts: the current facts of the same files.
        paths: the files that may have changed.
    """
    paths = tuple(paths)
    if any(before.facts[path].devices != facts[path].devices for path in paths):
        return None
    changed = changed_blocks(before.facts, facts, paths)
    if not changed:
        return replace(before, facts=facts)
    if before.failures:
        return None
    again = next((one for one in before.earlier if _is_the_same(one, facts)), None)
    if again is not None:
        return replace(again, facts=facts, step=None, earlier=_kept(before, again), _once={})
    for one in (before, *[one for one in before.earlier if not _is_typed_alike(one, before)]):
        changed_since = changed if one is before else _changed_since(one, facts)
        typed = _typed_again(one, facts, changed_since) if changed_since is not None else None
        if typed is not None:
            return replace(typed, earlier=_kept(before, typed))
    now = _interest(before, facts, changed)
    if now is None or before.interest is None:
        return None
    dirty = _dirty(before, with_worth(before.interest, now, changed))
    if any(name == "" for _, name in dirty):
        return None
    forget_sets()
    solution = _following(before, facts, now)
    watched = {block: one for block, one in watched_in(facts, paths).items() if block in changed}
    ledgers = AsOfTurn(before.ledgers, solution.results, before.turns)
    world = SolvingWorld(solution, now, ledgers, {block: shape for block, (_, shape) in watched.items()})
    fresh: dict[RootKey, RootResult] = {}
    moments: dict[RootKey, tuple[Moment, ...] | None] = {}
    waiting = [(before.turns[key], key) for key in dirty]
    heapify(waiting)
    while waiting:
        _, key = heappop(waiting)
        found = _rerun(solution, world, key)
        if found is None or not found.relied <= solution.results.keys():
            return None
        if _decides_about_others(before, key, before.results[key], found):
            return None
        moments[key] = found.moments
        solution.results[key] = fresh[key] = replace(found, moments=None)
        for more in set(ledgers.misled(key, before.results[key].ledger, found.ledger)) - dirty:
            dirty.add(more)
            heappush(waiting, (before.turns[more], more))
    if len(solution.results) != len(before.results):
        return None
    solution.watch = watch_of(facts, next(iter(watched)), moments) if len(watched) == 1 else None
    # Once whole roots have run, keeping more of the earlier solutions would take too much memory.
    solution.earlier = _of_others(before, solution)
    return _finished(solution, before, fresh)


def _kept(before: Solution, now: Solution) -> tuple[Solution, ...]:
    """Returns the solutions that later edits may restore: the last ones, and some with another watched statement."""
    known = (replace(before, earlier=()), *before.earlier)
    undone = [one for one in known if _is_typed_alike(one, now) and one.results is not now.results]
    return (*undone[:_MOST_UNDONE], *_of_others(before, now))


def _of_others(before: Solution, now: Solution) -> tuple[Solution, ...]:
    known = (replace(before, earlier=()), *before.earlier)
    others = [one for one in known if one.watch is not None and not _is_typed_alike(one, now)]
    return tuple(others[:_MOST_EARLIER])


def _is_typed_alike(one: Solution, other: Solution) -> bool:
    """Returns whether the same statement is watched, and everything around it is unchanged."""
    watches = one.watch, other.watch
    return watches[0] is not None and watches[1] is not None and watches[0].spot.place is watches[1].spot.place


def _is_the_same(before: Solution, facts: Mapping[str, FileFacts]) -> bool:
    """Returns whether all facts equal those of an earlier solution, because edits were undone."""
    watch = before.watch
    if watch is None or watch.path not in facts or facts.keys() != before.facts.keys():
        return False
    spot, block = facts[watch.path].spot, facts[watch.path].blocks.get(watch.spot.key)
    if spot is None or block is None or spot.place is not watch.spot.place or block.shape != watch.shape:
        return False
    paths = [path for path, one in facts.items() if one is not before.facts[path]]
    same_devices = all(before.facts[path].devices == facts[path].devices for path in paths)
    return same_devices and not changed_blocks(before.facts, facts, paths)


def _changed_since(before: Solution, facts: Mapping[str, FileFacts]) -> frozenset[BlockKey] | None:
    """Returns the blocks changed since an earlier solution; None if its watched statement is not being edited now."""
    watch = before.watch
    spot = facts[watch.path].spot if watch is not None and watch.path in facts else None
    if watch is None or spot is None or spot.place is not watch.spot.place or facts.keys() != before.facts.keys():
        return None
    paths = [path for path, one in facts.items() if one is not before.facts[path]]
    if any(before.facts[path].devices != facts[path].devices for path in paths):
        return None
    return changed_blocks(before.facts, facts, paths)


def _following(before: Solution, facts: Mapping[str, FileFacts], interest: Interest) -> Solution:
    results, modules = dict(before.results), dict(before.modules)
    return replace(before, facts=facts, interest=interest, results=results, modules=modules, _once={})


def _finished(
    solution: Solution,
    before: Solution,
    fresh: Mapping[RootKey, RootResult],
    records: Mapping[RootKey, tuple[Records, ...]] | None = None,
) -> Solution:
    for key, found in fresh.items():
        before.readers.add(key, found)
    solution.sorted = resorted(before.sorted, before.results, fresh)
    solution.step = Step(before.results, frozenset(fresh), records)
    return solution


def _typed_again(before: Solution, facts: Mapping[str, FileFacts], changed: frozenset[BlockKey]) -> Solution | None:
    """Returns the solution after an edit of only the watched statement; None if the edit may affect more."""
    watch = before.watch
    if watch is None or before.interest is None or changed != {(watch.path, watch.spot.key)}:
        return None
    block = next(iter(changed))
    spot = facts[watch.path].spot
    if spot is None or spot.place is not watch.spot.place:
        return None
    shape = facts[watch.path].blocks[spot.key].shape
    names = watch.names() | names_of(statement_at(shape, spot.path))
    interest = before.interest.after(facts, [block], {block: tuple(sorted(names))})
    if interest is None or before.interest.verdict(*block) != interest[0].verdict(*block):
        return None
    now, more = interest
    if not reaches_alike(before.interest, now, block) or (more and now.mentioning(more)):
        return None
    dirty = _dirty(before, changed)
    solution = _following(before, facts, now)
    world = SolvingWorld(solution, now, AsOfTurn(before.ledgers, before.results, before.turns))
    typed = type_again(watch, world, facts, before.results, dirty)
    if typed is None or len(solution.results) != len(before.results):
        return None
    solution.watch = typed.watch
    if not typed.fresh:
        return replace(before, facts=facts, interest=now, watch=typed.watch, _once={})
    solution.results.update(typed.fresh)
    for key, (_, *come) in typed.records.items():
        solution.links.follow(key, before.results[key].records, typed.fresh[key].records, come)
    return _finished(solution, before, typed.fresh, typed.records)


def _interest(before: Solution, facts: Mapping[str, FileFacts], changed: frozenset[BlockKey]) -> Interest | None:
    """Returns which blocks are interesting now; None if roots appear or disappear."""
    was = before.interest
    blocks = frozenset(filter(is_block, changed))
    found = was.after(facts, blocks) if was is not None else None
    if was is None or found is None:
        return None
    now, names = found
    others = now.mentioning(names) if names else frozenset()
    return now if all(was.verdict(*block) == now.verdict(*block) for block in blocks | others) else None


def _dirty(before: Solution, changed: frozenset[BlockKey]) -> set[RootKey]:
    """Returns the roots that read a changed block."""
    results = before.results
    return {
        key for block in changed for key in before.readers.of(block) if key in results and block in results[key].deps
    }


def _rerun(solution: Solution, world: SolvingWorld, key: RootKey) -> RootResult | None:
    path, name = key
    state = solution.modules[path]
    if name == PROGRAM:
        return run_program(world, path)
    if name.startswith("<"):
        for site, mapped in state.left.mapped.items() if state.left is not None else ():
            if left_name(site) == name:
                return run_left_map(world, path, name, mapped)
        for site, made in state.left.made.items() if state.left is not None else ():
            if left_name(site) == name:
                return run_left_function(world, path, name, made)
        return None
    value = state.frame.vars.get(name)
    inner = inner_of(value) if value is not None else None
    if value is None or inner is None:
        return None
    return run_root(world, path, name, inner if isinstance(inner, Class) else value)


def _decides_about_others(before: Solution, key: RootKey, old: RootResult, new: RootResult) -> bool:
    """Returns whether a root now enters or calls something else, so that other roots may appear or disappear."""
    if key[1].startswith("<") and old.called != new.called:
        state = before.modules.get(key[0])
        if state is None or state.left is None or not state.left.mapped.keys().isdisjoint(old.called ^ new.called):
            return True
    return any(_is_decisive(before, key, site) for site in old.entered ^ new.entered)


def _is_decisive(before: Solution, key: RootKey, site: Site) -> bool:
    state = before.modules.get(site.path)
    if state is not None and state.left is not None and site not in state.left.made:
        if state.names is None:
            state.names = _names(state, site.path)
        if state.names.get(site, key[1]) == key[1] and (site.path == key[0] or site not in state.names):
            return False
    turns = before.turns
    others = [one for one in before.readers.of((site.path, site.block)) if one != key and one in turns]
    return not any(site in before.results[one].entered for one in others if turns[one] < turns[key])


def _names(state: ModuleState, path: str) -> dict[Site, str]:
    names: dict[Site, str] = {}
    for name, value in state.frame.vars.items():
        inner = inner_of(value)
        for site in sites_of(inner) if inner is not None and inner.path == path else ():
            names.setdefault(site, name)
    return names
