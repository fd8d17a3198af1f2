"""The solution of a workspace: the records of every root, kept from one workspace to the next where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from meshlens.axes.interest import Interest
from meshlens.axes.records import Records
from meshlens.axes.roots import (
    RootResult,
    candidates,
    is_inside,
    is_start,
    methods,
    run_left_function,
    run_left_map,
    run_root,
)
from meshlens.axes.run import ModuleState, Run
from meshlens.axes.values import Class, Function, Site
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts
from meshlens.project.changes import changed_blocks
from meshlens.project.devices import says_devices
from meshlens.project.jax_folders import JaxFolders
from meshlens.project.ledgers import LedgerIndex, OneAfterTheOther
from meshlens.project.links import LinkIndex
from meshlens.project.modules import ModuleIndex
from meshlens.project.readers import Readers
from meshlens.project.sorting import Sorted, sorted_records
from meshlens.project.watching import Watch
from meshlens.project.world import SolvingWorld

RootKey = tuple[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Focus:
    """What is run of a large workspace; the rest is there to be called.

    Attributes:
        files: files of which everything is run.
        roots: what is run of the other files.
    """

    files: frozenset[str]
    roots: frozenset[RootKey]

    def runs(self, key: RootKey) -> bool:
        """Whether a root is run."""
        return key[0] in self.files or key in self.roots


@dataclass(frozen=True, slots=True)
class Step:
    """What one solution changed of another.

    Attributes:
        before: the results of the other.
        fresh: the roots that ran again.
    """

    before: Mapping[RootKey, RootResult]
    fresh: frozenset[RootKey]


@dataclass
class Solution:
    """All roots of a workspace, run.

    Attributes:
        facts: the facts that it was computed from.
        index: where imports lead.
        devices, jax_version: the assumptions.
        focus: what is run; None for everything.
        jax_folders: folders that say themselves which version of JAX their files use.
        modules: what each module's top level leaves behind.
        results: by root: (path, "") for a module's top level, (path, name) for a function or class, and for what a
            module made and did not call.
        sorted: the records by the file in which their place lies.
        interest: which blocks are interesting.
        readers: which roots may depend on a block.
        links: which blocks its records tie together.
        step: how it came of the solution before; None if it was worked out from the beginning.
        checked: what was found in files, for whoever checks the next solution.
        watch: the statement that was watched while roots ran.
        earlier: earlier solutions with another such statement, the latest first.
        turns: the roots, numbered in the order in which they ended.
        ledgers: which of them found or left what.
        circular: modules that import each other: what they say depends on which of them is imported first.
    """

    facts: Mapping[str, FileFacts]
    index: ModuleIndex
    devices: Topology | None
    jax_version: tuple[int, ...]
    focus: Focus | None = None
    modules: dict[str, ModuleState] = field(default_factory=dict)
    results: dict[RootKey, RootResult] = field(default_factory=dict)
    sorted: Sorted = field(default_factory=lambda: Sorted({}, {}, {}))
    interest: Interest | None = None
    counter: Iterator[int] = field(default_factory=count)
    jax_folders: JaxFolders = ()
    readers: Readers = field(default_factory=lambda: Readers({}))
    links: LinkIndex = field(default_factory=LinkIndex)
    step: Step | None = None
    checked: dict[Any, Any] = field(default_factory=dict)
    watch: Watch | None = None
    earlier: tuple[Solution, ...] = ()
    circular: set[str] = field(default_factory=set)
    turns: Mapping[RootKey, int] = field(default_factory=dict)
    ledgers: LedgerIndex = field(default_factory=LedgerIndex)
    _once: dict[str, Any] = field(default_factory=dict)
    _places: dict[RootKey, int] = field(default_factory=dict)

    @property
    def by_file(self) -> Mapping[str, Records]:
        """The records by the file in which their place lies."""
        return self.sorted.by_file

    def order(self, key: RootKey) -> int:
        """When a root ran."""
        if not self._places:
            self._places.update((one, place) for place, one in enumerate(self.results))
        return self._places[key]

    def once(self, key: str, compute: Callable[[Solution], T]) -> T:
        """What a rule works out for the whole workspace, kept under a key so that it is done once and not per file."""
        if key not in self._once:
            self._once[key] = compute(self)
        found: T = self._once[key]
        return found

    def runs(self, key: RootKey) -> bool:
        """Whether a root is run."""
        return self.focus is None or self.focus.runs(key)

    @property
    def paths(self) -> frozenset[str]:
        """The files."""
        return frozenset(self.facts)


def solve(
    facts: Mapping[str, FileFacts],
    index: ModuleIndex,
    devices: Topology | None,
    jax_version: tuple[int, ...],
    before: Solution | None,
    jax_folders: JaxFolders = (),
    focus: Focus | None = None,
) -> Solution:
    """Runs every root of a workspace, or takes its result from the solution before where nothing it saw has changed."""
    solution = Solution(facts, index, devices, jax_version, focus, jax_folders=jax_folders)
    if before is not None:
        solution.counter = before.counter
        solution.links, solution.checked = before.links, before.checked
    kept = _kept(solution, before) if before is not None else {}
    interest = Interest(facts, before.interest if before is not None else None)
    solution.interest = interest
    ledgers = OneAfterTheOther(kept)
    world = SolvingWorld(solution, interest, ledgers)
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
            world.module_state(path, Run(world, path))
    _run_roots(solution, world, ledgers)
    results = solution.results
    is_complete = all(result.relied <= results.keys() for result in results.values())
    if before is not None and (ledgers.is_out_of_step or not is_complete):
        return solve(facts, index, devices, jax_version, None, jax_folders, focus)
    solution.results = _in_order(solution.results)
    solution.turns = ledgers.turns
    solution.sorted = sorted_records(solution.results)
    solution.readers = Readers(solution.results)
    return solution


def _in_order(results: Mapping[RootKey, RootResult]) -> dict[RootKey, RootResult]:
    """Modules first, by path: those whose results were kept did not run in the order of a cold start."""
    modules = sorted(key for key in results if key[1] == "")
    return {key: results[key] for key in (*modules, *(key for key in results if key[1]))}


def _run_roots(solution: Solution, world: SolvingWorld, ledgers: OneAfterTheOther) -> None:
    """Runs, in this order, what modules made and did not call, and the functions and classes that nobody calls."""
    entered: set[Site] = set()
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
            found = ledgers.usable(key, solution.results)
            if found is None:
                found = run_root(world, path, name, inner if isinstance(inner, Class) else value)
            solution.results[key] = found
            ledgers.add(key, found.ledger)
            entered |= found.entered | sites
    for path in sorted(solution.modules.keys() - set(done)):
        _run_left(solution, world, ledgers, path, entered)


def _run_left(
    solution: Solution, world: SolvingWorld, ledgers: OneAfterTheOther, path: str, entered: set[Site]
) -> None:
    left = solution.modules[path].left
    if left is None:
        return
    called, seen = set(left.called), set(left.entered)
    for site, item in reversed(left.mapped.items()):
        if site in called:
            continue
        key = (path, left_name(site))
        if not solution.runs(key):
            continue
        found = ledgers.usable(key, solution.results) or run_left_map(world, path, key[1], item)
        solution.results[key] = found
        ledgers.add(key, found.ledger)
        called |= found.called
        seen |= found.entered
    for site, made in left.made.items():
        if site in seen or not is_inside(made[0]):
            continue
        key = (path, left_name(site))
        if not solution.runs(key):
            continue
        found = ledgers.usable(key, solution.results) or run_left_function(world, path, key[1], made)
        solution.results[key] = found
        ledgers.add(key, found.ledger)
        seen |= found.entered
    entered |= seen


def left_name(site: Site) -> str:
    """The name of the root that runs a map or function which a module left uncalled."""
    return f"<left {site.block} {site.index}>"


def sites_of(value: Function | Class) -> set[Site]:
    """The functions that make a root."""
    return {method.site for method in methods(value)} if isinstance(value, Class) else {value.site}


def _matters(interest: Interest, value: Function | Class) -> bool:
    if isinstance(value, Function):
        return interest.is_worth_a_root(value.path, value.block, starts=is_start(value))
    return any(interest.is_worth_a_root(one.path, one.block, starts=is_start(one)) for one in methods(value))


def _kept(solution: Solution, before: Solution) -> dict[RootKey, RootResult]:
    if (
        before.paths != solution.paths
        or before.devices != solution.devices
        or says_devices(before.facts) != says_devices(solution.facts)
        or before.jax_version != solution.jax_version
        or before.jax_folders != solution.jax_folders
    ):
        return {}
    changed = changed_blocks(before.facts, solution.facts, solution.facts)
    kept = {key: result for key, result in before.results.items() if not (result.deps & changed)}
    for path in before.circular:
        # Another of them may be imported first now.
        kept.pop((path, ""), None)
    while True:
        incomplete = [key for key, result in kept.items() if not result.relied <= kept.keys()]
        if not incomplete:
            return kept
        for key in incomplete:
            del kept[key]
