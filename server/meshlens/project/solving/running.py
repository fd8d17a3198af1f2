"""Runs the roots of a solution after its modules, except roots whose results are reused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from meshlens.axes.domain.values import Class, Function, Site
from meshlens.axes.runs.programs import PROGRAM, program_of
from meshlens.axes.runs.roots import (
    RootResult,
    candidates,
    is_inside,
    is_start,
    methods,
    run_left_function,
    run_left_map,
    run_program,
    run_root,
)
from meshlens.axes.worth.interest import Interest
from meshlens.project.failures import contained
from meshlens.project.solving.ledgers import OneAfterTheOther
from meshlens.project.solving.world import SolvingWorld

if TYPE_CHECKING:
    from meshlens.project.solving.solution import Solution

RootKey = tuple[str, str]


def run_roots(solution: Solution, world: SolvingWorld, ledgers: OneAfterTheOther) -> None:
    """Runs programs, then maps and functions that modules left uncalled, then functions and classes without callers."""
    entered: set[Site] = set()
    for path in sorted(solution.modules):
        entered |= _run_program(solution, world, ledgers, path)
    for path in sorted(solution.modules):
        _run_left(solution, world, ledgers, path, entered)
    done = sorted(solution.modules)
    assert solution.interest is not None
    for path in done:
        for name, value, inner in candidates(solution.modules[path].frame):
            sites = sites_of(inner)
            if sites <= entered or not _matters(solution.interest, inner):
                continue
            key = (path, name)
            if not solution.runs(key):
                continue
            begins = inner if isinstance(inner, Class) else value
            found = _found(solution, ledgers, key, partial(run_root, world, path, name, begins))
            entered |= found.entered | sites
    for path in sorted(solution.modules.keys() - set(done)):
        _run_left(solution, world, ledgers, path, entered)


def _run_program(solution: Solution, world: SolvingWorld, ledgers: OneAfterTheOther, path: str) -> frozenset[Site]:
    """Runs a file as a program, if that involves axes; returns the functions that it entered."""
    key, interest = (path, PROGRAM), solution.interest
    assert interest is not None
    blocks = program_of(solution.facts[path])
    if not solution.runs(key) or not any(interest.is_worth_a_root(path, block, starts=True) for block in blocks):
        return frozenset()
    return _found(solution, ledgers, key, partial(run_program, world, path)).entered


def _run_left(
    solution: Solution, world: SolvingWorld, ledgers: OneAfterTheOther, path: str, entered: set[Site]
) -> None:
    left = solution.modules[path].left
    if left is None:
        return
    program = solution.results.get((path, PROGRAM))
    called, seen = set(left.called), set(left.entered)
    if program is not None:
        called |= program.called
        seen |= program.entered
    for site, item in reversed(left.mapped.items()):
        if site in called:
            continue
        key = (path, left_name(site))
        if not solution.runs(key):
            continue
        found = _found(solution, ledgers, key, partial(run_left_map, world, path, key[1], item))
        called |= found.called
        seen |= found.entered
    for site, made in left.made.items():
        if site in seen or not is_inside(made[0]):
            continue
        key = (path, left_name(site))
        if not solution.runs(key):
            continue
        seen |= _found(solution, ledgers, key, partial(run_left_function, world, path, key[1], made)).entered
    entered |= seen


def _found(solution: Solution, ledgers: OneAfterTheOther, key: RootKey, run: Callable[[], RootResult]) -> RootResult:
    """Returns the result of a root: the previous one if it would be the same, otherwise that of a run."""
    solution.results[key] = found = ledgers.usable(key, solution.results) or contained(solution, key, run)
    ledgers.add(key, found.ledger)
    return found


def left_name(site: Site) -> str:
    """Returns the name of the root for a map or function that a module left uncalled."""
    return f"<left {site.block} {site.index}>"


def sites_of(value: Function | Class) -> set[Site]:
    """Returns the sites of the functions in a root's value."""
    return {method.site for method in methods(value)} if isinstance(value, Class) else {value.site}


def _matters(interest: Interest, value: Function | Class) -> bool:
    if isinstance(value, Function):
        return interest.is_worth_a_root(value.path, value.block, starts=is_start(value))
    return any(interest.is_worth_a_root(one.path, one.block, starts=is_start(one)) for one in methods(value))
