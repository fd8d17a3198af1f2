"""Solves a workspace again after an edit of a few blocks: only the roots that saw them run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from meshlens.axes.interest import Interest
from meshlens.axes.roots import RootResult, inner_of, run_left_function, run_left_map, run_root
from meshlens.axes.run import ModuleState
from meshlens.axes.values import Class, Site
from meshlens.facts.model import FileFacts
from meshlens.project.changes import BlockKey, changed_blocks
from meshlens.project.solution import RootKey, Solution, Step, left_name, sites_of
from meshlens.project.sorting import resorted
from meshlens.project.world import SolvingWorld


def solve_again(before: Solution, facts: Mapping[str, FileFacts], paths: Iterable[str]) -> Solution | None:
    """The solution after some files have got other facts; None where it has to be worked out from the beginning.

    Args:
        before: the solution before.
        facts: the facts of the same files now.
        paths: those that may have changed.
    """
    paths = tuple(paths)
    if any(before.facts[path].devices != facts[path].devices for path in paths):
        return None
    changed = changed_blocks(before.facts, facts, paths)
    if not changed:
        return replace(before, facts=facts)
    interest = _interest(before, facts, changed)
    if interest is None:
        return None
    now, touched = interest
    dirty = _dirty(before, changed | touched)
    if any(name == "" for _, name in dirty):
        return None
    solution = replace(
        before, facts=facts, interest=now, results=dict(before.results), modules=dict(before.modules), _once={}
    )
    world = SolvingWorld(solution, now)
    fresh: dict[RootKey, RootResult] = {}
    for key in sorted(dirty, key=before.order):
        found = _rerun(solution, world, key)
        if found is None or not found.relied <= solution.results.keys():
            return None
        if _decides_about_others(before, key, before.results[key], found):
            return None
        solution.results[key] = fresh[key] = found
    if len(solution.results) != len(before.results):
        return None
    for key, found in fresh.items():
        before.readers.add(key, found)
    solution.sorted = resorted(before.sorted, before.results, fresh)
    solution.step = Step(before.results, frozenset(fresh))
    return solution


def _interest(
    before: Solution, facts: Mapping[str, FileFacts], changed: frozenset[BlockKey]
) -> tuple[Interest, frozenset[BlockKey]] | None:
    """What is interesting now, and the blocks elsewhere of which more can be reached; None if roots come or go."""
    if before.interest is None:
        return None
    blocks = [(path, key) for path, key in changed if key != "module" and not key.startswith("header:")]
    found = before.interest.after(facts, blocks)
    if found is None:
        return None
    now, names = found
    touched = now.mentioning(names) if names else frozenset()
    if any(before.interest.verdict(*block) != now.verdict(*block) for block in {*blocks, *touched}):
        return None
    return now, touched


def _dirty(before: Solution, changed: frozenset[BlockKey]) -> set[RootKey]:
    """The roots that saw a block, and those that rely on them."""
    results = before.results
    dirty = {
        key for block in changed for key in before.readers.of(block) if key in results and block in results[key].deps
    }
    waiting = list(dirty)
    for one in waiting:
        for key in before.readers.relying_on(one):
            if key not in dirty and key in results and one in results[key].relied:
                dirty.add(key)
                waiting.append(key)
    return dirty


def _rerun(solution: Solution, world: SolvingWorld, key: RootKey) -> RootResult | None:
    path, name = key
    state = solution.modules[path]
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
    """Whether a root now enters or calls something else, so that other roots may come or go."""
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
    others = [one for one in before.readers.of((site.path, site.block)) if one != key and one in before.results]
    return not any(site in before.results[one].entered for one in others if before.order(one) < before.order(key))


def _names(state: ModuleState, path: str) -> dict[Site, str]:
    names: dict[Site, str] = {}
    for name, value in state.frame.vars.items():
        inner = inner_of(value)
        for site in sites_of(inner) if inner is not None and inner.path == path else ():
            names.setdefault(site, name)
    return names
