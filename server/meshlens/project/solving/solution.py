"""The solution of a workspace: the records of every root, kept from one workspace to the next where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple, TypeVar

from meshlens.axes.interpreter import new_run
from meshlens.axes.runs.records import Records
from meshlens.axes.runs.roots import RootResult
from meshlens.axes.runs.run import ModuleState
from meshlens.axes.runs.spots import Moment
from meshlens.axes.worth.interest import Interest
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts
from meshlens.project.failures import Failure
from meshlens.project.modules import ModuleIndex
from meshlens.project.settings.devices import says_devices
from meshlens.project.settings.jax_folders import JaxFolders
from meshlens.project.solving.changes import BlockKey, changed_blocks, with_worth
from meshlens.project.solving.ledgers import LedgerIndex, OneAfterTheOther
from meshlens.project.solving.links import LinkIndex
from meshlens.project.solving.readers import Readers
from meshlens.project.solving.running import run_roots
from meshlens.project.solving.sorting import Sorted, sorted_records
from meshlens.project.solving.watching import Watch, watch_of, watched_in
from meshlens.project.solving.world import SolvingWorld

RootKey = tuple[str, str]
T = TypeVar("T")

READING = "<reading>"
"""Stands for a root where a file could not be read."""

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Focus:
    """The part of a large workspace that is run; the rest is there to be called.

    Attributes:
        files: files of which everything is run.
        roots: what is run of the other files.
    """

    files: frozenset[str]
    roots: frozenset[RootKey]

    def runs(self, key: RootKey) -> bool:
        """Returns whether a root is run."""
        return key[0] in self.files or key in self.roots


@dataclass(frozen=True, slots=True)
class Step:
    """The difference between one solution and another.

    Attributes:
        before: the results of the other.
        fresh: the roots that ran again.
        records: what went and came of their records; None where that may be any of them.
    """

    before: Mapping[RootKey, RootResult]
    fresh: frozenset[RootKey]
    records: Mapping[RootKey, tuple[Records, ...]] | None = None


class Assumed(NamedTuple):
    """The assumptions of a solution, besides the files.

    Attributes:
        devices: the devices that the code is meant for.
        jax_version: the version of JAX.
        jax_folders: folders that say themselves which version of JAX their files use.
        focus: what is run; None for everything.
    """

    devices: Topology | None
    jax_version: tuple[int, ...]
    jax_folders: JaxFolders = ()
    focus: Focus | None = None


@dataclass
class Solution:
    """All roots of a workspace, run.

    Attributes:
        facts: the facts that it was computed from.
        index: where imports lead.
        assumed: what it takes for given.
        modules: what each module's top level leaves behind.
        results: by root: (path, "") for a module's top level, (path, name) for a function or class, for the file as a
            program, and for what a module made and did not call.
        sorted: the records by the file in which their place lies.
        interest: which blocks are interesting.
        readers: which roots may depend on a block.
        links: which blocks its records tie together.
        step: how it came of the solution before; None if it was worked out from the beginning.
        checked: what was found in files, for whoever checks the next solution.
        watch: the statement that was watched while roots ran.
        earlier: solutions to which one may come back: the last ones with that statement, then some with another one.
        turns: the roots, numbered in the order in which they ended.
        ledgers: which of them found or left what.
        circular: modules that import each other: what they say depends on which of them is imported first.
        failures: the roots and rules that failed, with a line about each; what they would have said is missing.
    """

    facts: Mapping[str, FileFacts]
    index: ModuleIndex
    assumed: Assumed
    modules: dict[str, ModuleState] = field(default_factory=dict)
    results: dict[RootKey, RootResult] = field(default_factory=dict)
    sorted: Sorted = field(default_factory=lambda: Sorted({}, {}, {}))
    interest: Interest | None = None
    counter: Iterator[int] = field(default_factory=count)
    readers: Readers = field(default_factory=lambda: Readers({}))
    links: LinkIndex = field(default_factory=LinkIndex)
    step: Step | None = None
    checked: dict[Any, Any] = field(default_factory=dict)
    watch: Watch | None = None
    earlier: tuple[Solution, ...] = ()
    circular: set[str] = field(default_factory=set)
    failures: dict[RootKey, Failure] = field(default_factory=dict)
    _by_source: dict[Any, tuple[object, object, Any]] = field(default_factory=dict)
    turns: Mapping[RootKey, int] = field(default_factory=dict)
    ledgers: LedgerIndex = field(default_factory=LedgerIndex)
    _once: dict[str, Any] = field(default_factory=dict)

    @property
    def by_file(self) -> Mapping[str, Records]:
        """The records by the file in which their place lies."""
        return self.sorted.by_file

    def once(self, key: str, compute: Callable[[Solution], T]) -> T:
        """Returns what a rule computes for the whole workspace, kept under a key so that it is done only once."""
        if key not in self._once:
            self._once[key] = compute(self)
        found: T = self._once[key]
        return found

    def once_of(self, key: Any, source: object, given: object, compute: Callable[[], T]) -> T:
        """Returns what is computed from a block's shape or a file's facts, kept for this solution and later ones.

        Args:
            key: stands for what it is and where.
            source: the shape or the facts themselves; equal ones may lie elsewhere.
            given: all else that goes into it.
            compute: works it out.
        """
        known = self._by_source.get(key)
        if known is None or known[0] is not source or known[1] != given:
            if len(self._by_source) > _MOST_REMEMBERED:
                self._by_source.clear()
            known = self._by_source[key] = source, given, compute()
        found: T = known[2]
        return found

    def runs(self, key: RootKey) -> bool:
        """Returns whether a root is run."""
        focus = self.assumed.focus
        return focus is None or focus.runs(key)

    @property
    def paths(self) -> frozenset[str]:
        """The files."""
        return frozenset(self.facts)


def solve(
    facts: Mapping[str, FileFacts],
    index: ModuleIndex,
    assumed: Assumed,
    before: Solution | None,
    edited: Iterable[str] = (),
) -> Solution:
    """Runs every root of a workspace, or takes its result from the solution before where nothing it saw has changed.

    Args:
        facts: the facts of all files.
        index: where imports lead.
        assumed: what is taken for given.
        before: the solution before.
        edited: files in which something may be typed.
    """
    focus = assumed.focus
    solution = Solution(facts, index, assumed)
    if before is not None:
        solution.counter = before.counter
        solution.links, solution.checked, solution._by_source = before.links, before.checked, before._by_source
    for path, file in facts.items():
        if file.failure:
            solution.failures[(path, READING)] = Failure(path, "reading it", file.failure)
    interest = solution.interest = Interest.of(facts, before.interest if before is not None else None)
    kept = _kept(solution, interest, before) if before is not None else {}
    watched = watched_in(facts, edited) if before is not None else {}
    ledgers = OneAfterTheOther(kept, before.results if before is not None else {})
    world = SolvingWorld(solution, interest, ledgers, {block: shape for block, (_, shape) in watched.items()})
    if before is not None:
        for (path, name), result in kept.items():
            if name == "":
                solution.modules[path] = before.modules[path]
                solution.results[(path, "")] = result
    homes = focus.files | {path for path, _ in focus.roots} if focus is not None else frozenset()
    for path in sorted(facts):
        if focus is not None and path not in homes:
            continue
        if facts[path].top and interest.is_worth_reading(path):
            world.module_state(path, new_run(world, path))
    run_roots(solution, world, ledgers)
    results = solution.results
    is_complete = all(result.relied <= results.keys() for result in results.values())
    if before is not None and (ledgers.is_out_of_step or not is_complete):
        return solve(facts, index, assumed, None)
    if watched:
        _watch(solution, kept, tuple(watched))
    solution.results = _in_order(solution.results)
    solution.turns = ledgers.turns
    solution.links.forget_others(solution.results)
    solution.sorted = sorted_records(solution.results)
    solution.readers = Readers(solution.results)
    return solution


def _watch(solution: Solution, kept: Mapping[RootKey, RootResult], watched: Sequence[BlockKey]) -> None:
    """Takes what was seen of the statement that is watched out of the results of the roots that ran."""
    moments: dict[RootKey, tuple[Moment, ...] | None] = {}
    for key, result in solution.results.items():
        if kept.get(key) is not result:
            moments[key] = result.moments
            solution.results[key] = replace(result, moments=None)
    if len(watched) == 1:
        solution.watch = watch_of(solution.facts, watched[0], moments)


def _in_order(results: Mapping[RootKey, RootResult]) -> dict[RootKey, RootResult]:
    """Modules first, by path: those whose results were kept did not run in the order of a cold start."""
    modules = sorted(key for key in results if key[1] == "")
    return {key: results[key] for key in (*modules, *(key for key in results if key[1]))}


def _kept(solution: Solution, interest: Interest, before: Solution) -> dict[RootKey, RootResult]:
    if (
        before.interest is None
        or before.paths != solution.paths
        or before.assumed._replace(focus=None) != solution.assumed._replace(focus=None)
        or says_devices(before.facts) != says_devices(solution.facts)
    ):
        return {}
    changed = changed_blocks(before.facts, solution.facts, solution.facts)
    changed = with_worth(before.interest, interest, changed)
    kept = {key: result for key, result in before.results.items() if not (result.deps & changed)}
    for path in before.circular:
        # Another of them may be imported first now.
        kept.pop((path, ""), None)
    for key in before.failures:
        kept.pop(key, None)
    while True:
        # Whether a function or class that is relied on leaves what it left is seen when it has run.
        incomplete = [
            key for key, result in kept.items() if any(not one[1] and one not in kept for one in result.relied)
        ]
        if not incomplete:
            return kept
        for key in incomplete:
            del kept[key]
