"""The solution of a workspace: the records of every root, reused in the next solution if nothing they need changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple, TypeVar

from meshlens.axes.domain.labels import forget_sets
from meshlens.axes.domain.values import Site
from meshlens.axes.interpreter import new_run
from meshlens.axes.runs.records import ApiCall, Records
from meshlens.axes.runs.roots import RootResult
from meshlens.axes.runs.run import ModuleState
from meshlens.axes.runs.spots import Moment
from meshlens.axes.worth.interest import Interest
from meshlens.axes.worth.passed import CALLED, PASSED, RUN_MODELS
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts
from meshlens.project.failures import Failure
from meshlens.project.modules import ModuleIndex, packages_around
from meshlens.project.settings.devices import says_devices
from meshlens.project.settings.folder_versions import FolderVersions
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
_Known = tuple[object, object, Any]
"""A value computed from a source, after the source and all other inputs."""

READING = "<reading>"
"""The name of a root for a file that could not be read."""

_MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Focus:
    """The part of a large workspace that is run; the rest runs only if this part calls it.

    Attributes:
        files: files in which everything is run.
        roots: the roots that are run in the other files.
        function: a function whose calls are recorded, see `passed.py`; None for an ordinary analysis.
        names: names that make the code that mentions them worth running, as the names of axes do.
    """

    files: frozenset[str]
    roots: frozenset[RootKey]
    function: Site | None = None
    names: frozenset[str] = frozenset()

    def runs(self, key: RootKey) -> bool:
        """Returns whether a root is run."""
        return key[0] in self.files or key in self.roots


@dataclass(frozen=True, slots=True)
class Step:
    """The difference between one solution and another.

    Attributes:
        before: the results of the other solution.
        fresh: the roots that ran again.
        records: the removed and added records of each root; None if unknown.
    """

    before: Mapping[RootKey, RootResult]
    fresh: frozenset[RootKey]
    records: Mapping[RootKey, tuple[Records, ...]] | None = None


class Assumed(NamedTuple):
    """The inputs of a solution besides the files.

    Attributes:
        devices: the target devices.
        jax_version: the version of JAX.
        folder_versions: the versions of libraries that folders set for their files.
        focus: the part to run; None for everything.
        by_default: whether nobody passes options, so that they have their defaults; otherwise they are unknown.
    """

    devices: Topology | None
    jax_version: tuple[int, ...]
    folder_versions: FolderVersions = ()
    focus: Focus | None = None
    by_default: bool = False


@dataclass
class Solution:
    """All roots of a workspace with their results.

    Attributes:
        facts: the facts that it was computed from.
        index: resolves imports.
        assumed: its other inputs.
        modules: the state after each module's top level.
        results: the results by root: (path, "") for a module's top level, (path, name) for a function or class, for
            the file as a program, and for a map or function that a module created but did not call.
        sorted: the records, grouped by file.
        interest: the interesting blocks.
        readers: the roots that may depend on a block.
        links: the blocks that its records tie together.
        step: the difference from the previous solution; None if it was computed from scratch.
        checked: the findings in files, for checking the next solution.
        watch: the watched statement.
        earlier: solutions that later edits may restore: the last with the same watched statement, then some others.
        turns: the roots, numbered in the order in which they ended.
        ledgers: an index from each item to the roots that left an entry for it.
        circular: modules that import each other, whose results depend on the import order.
        failures: the roots and rules that failed, with a line about each; their results are missing.
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
    _by_source: dict[Any, _Known] = field(default_factory=dict)
    turns: Mapping[RootKey, int] = field(default_factory=dict)
    ledgers: LedgerIndex = field(default_factory=LedgerIndex)
    _once: dict[str, Any] = field(default_factory=dict)

    @property
    def by_file(self) -> Mapping[str, Records]:
        """Returns the records, grouped by file."""
        return self.sorted.by_file

    def once(self, key: str, compute: Callable[[Solution], T]) -> T:
        """Returns a value computed for the whole workspace, cached under a key."""
        if key not in self._once:
            self._once[key] = compute(self)
        found: T = self._once[key]
        return found

    def once_of_records(self, key: str, compute: Callable[[Solution], T]) -> T:
        """Returns a value computed from the records alone, cached under a key as long as they are the same."""
        return self.once_of(key, self.sorted, None, lambda: compute(self))

    def once_of(self, key: Any, source: object, given: object, compute: Callable[[], T]) -> T:
        """Returns a value computed from a block's content, a file's facts or the records, cached until these change.

        Args:
            key: identifies the value and its place.
            source: the block's content, the facts or the records, which several places may share; None if `given`
                and the set of files are all that matters.
            given: all other inputs.
            compute: computes it.
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

    def looked_back_at(self, path: str) -> Solution:
        """Returns the parts that completions in a file need: the file's results, and all files' modules and records."""
        results = {key: result for key, result in self.results.items() if key[0] == path}
        by_file = Sorted({}, {}, self.by_file)
        return Solution(self.facts, self.index, self.assumed, self.modules, results, by_file)

    @property
    def paths(self) -> frozenset[str]:
        """Returns the paths of the files."""
        return frozenset(self.facts)


def solve(
    facts: Mapping[str, FileFacts],
    index: ModuleIndex,
    assumed: Assumed,
    before: Solution | None,
    edited: Iterable[str] = (),
) -> Solution:
    """Runs every root of a workspace, or reuses its previous result if nothing it read has changed.

    Args:
        facts: the facts of all files.
        index: resolves imports.
        assumed: the other inputs.
        before: the previous solution.
        edited: files that may have been edited.
    """
    focus = assumed.focus
    solution = Solution(facts, index, assumed)
    for path, file in facts.items():
        if file.failure:
            solution.failures[(path, READING)] = Failure(path, "reading it", file.failure)
    asked = focus.names if focus is not None else frozenset()
    interest = solution.interest = Interest.of(facts, before.interest if before is not None else None, asked)
    kept = _kept(solution, interest, before) if before is not None else {}
    watched = watched_in(facts, edited) if before is not None else {}
    if before is not None:
        solution.counter = before.counter
        if before.paths == solution.paths:
            solution._by_source = _of_unchanged(before._by_source, facts)
    if before is not None and kept:
        solution.links, solution.checked = before.links, before.checked
    else:
        # Free the previous solution's memory before as much is needed again.
        before = None
    forget_sets()
    ledgers = OneAfterTheOther(kept, before.results if before is not None else {})
    world = SolvingWorld(solution, interest, ledgers, {block: shape for block, (_, shape) in watched.items()})
    if before is not None:
        for (path, name), result in kept.items():
            if name == "":
                solution.modules[path] = before.modules[path]
                solution.results[(path, "")] = result
    homes = focus.files | {path for path, _ in focus.roots} if focus is not None else frozenset()
    read = [path for path in facts if facts[path].top and interest.is_worth_reading(path)]
    for path in sorted({*read, *packages_around(read, facts)}):
        if focus is None or path in homes:
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


def calls_to(solution: Solution, function: Site, name: str) -> tuple[ApiCall, ...]:
    """Returns the calls of a function that its file leads to, each with what it passes; see `passed.py`.

    Args:
        solution: the workspace.
        function: the site of the function's name.
        name: its name.
    """
    records = _asked(solution, function, frozenset({name})).by_file.get(function.path)
    return tuple(call for call in records.calls if call.dotted == PASSED) if records is not None else ()


def callees_in(solution: Solution, function: Site, name: str) -> tuple[ApiCall, ...]:
    """Returns the calls inside a function, with what they call, as far as the calls of the function tell.

    Args:
        solution: the workspace.
        function: the site of the function's name.
        name: its name.
    """
    found = _asked(solution, function, frozenset({name, *RUN_MODELS}))
    calls = (call for records in found.by_file.values() for call in records.calls if call.dotted == CALLED)
    return tuple(call for call in calls if any(step.function == function for step in call.context.route))


def _asked(solution: Solution, function: Site, names: frozenset[str]) -> Solution:
    """Returns the solution of a function's file alone, for which the given names are worth following."""
    focus = Focus(frozenset({function.path}), frozenset(), function, names)
    return solve(solution.facts, solution.index, solution.assumed._replace(focus=focus), None)


def _watch(solution: Solution, kept: Mapping[RootKey, RootResult], watched: Sequence[BlockKey]) -> None:
    """Moves the observations of the watched statement out of the results of the roots that ran."""
    moments: dict[RootKey, tuple[Moment, ...] | None] = {}
    for key, result in solution.results.items():
        if kept.get(key) is not result:
            moments[key] = result.moments
            solution.results[key] = replace(result, moments=None)
    if len(watched) == 1:
        solution.watch = watch_of(solution.facts, watched[0], moments)


def _of_unchanged(known: Mapping[Any, _Known], facts: Mapping[str, FileFacts]) -> dict[Any, _Known]:
    """Returns the values whose source is still in use; others would keep earlier texts and records in memory."""
    sources = {id(one) for file in facts.values() for one in (file, *[block.content for block in file.blocks.values()])}
    return {key: one for key, one in known.items() if one[0] is None or id(one[0]) in sources}


def _in_order(results: Mapping[RootKey, RootResult]) -> dict[RootKey, RootResult]:
    """Returns the results with modules first, by path, because reused modules did not run in a cold start's order."""
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
        # A different module of the cycle may be imported first now.
        kept.pop((path, ""), None)
    for key in before.failures:
        kept.pop(key, None)
    while True:
        # Only modules count here: whether functions and classes leave the same entries is known only once they run.
        incomplete = [
            key for key, result in kept.items() if any(not one[1] and one not in kept for one in result.relied)
        ]
        if not incomplete:
            return kept
        for key in incomplete:
            del kept[key]
