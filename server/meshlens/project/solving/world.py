"""The workspace as MeshLens's interpreter sees it while the workspace is being solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from meshlens.axes.domain.values import Module
from meshlens.axes.interpreter import new_run
from meshlens.axes.runs.frames import Frame, Sites
from meshlens.axes.runs.roots import finished_module
from meshlens.axes.runs.run import ModuleState, Run
from meshlens.axes.worth.interest import Interest
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts, Shape
from meshlens.project.disk.toml_text import Table, parse_toml
from meshlens.project.disk.yaml_text import parse_yaml
from meshlens.project.failures import contained
from meshlens.project.modules import imported_by
from meshlens.project.settings.devices import devices_for
from meshlens.project.settings.folder_versions import version_in
from meshlens.project.settings.jax_version import JAX
from meshlens.project.solving.ledgers import AsOfTurn, OneAfterTheOther

if TYPE_CHECKING:
    from meshlens.project.solving.solution import Solution


_MOST_NESTED = 16
"""Number of nested imports above which modules run one at a time instead of recursively."""
_DEEPEST_OF_ALL = 300
"""Maximum total nesting depth of the running modules at which another module may start."""
_OF_A_MODULE = 4


class SolvingWorld:
    """The files of a solution in progress; modules run on first use.

    Attributes:
        ledgers: the entries of the roots that have run.
    """

    def __init__(
        self,
        solution: Solution,
        interest: Interest,
        ledgers: OneAfterTheOther | AsOfTurn,
        watched: Mapping[tuple[str, str], Shape] | None = None,
    ) -> None:
        self._solution = solution
        self.ledgers = ledgers
        self.reaches = interest.reaches
        self.makes_arrays = interest.makes_arrays
        self.is_short = interest.is_short
        self.maps_trees = interest.maps_trees
        self.fills_up = interest.fills_up
        self.matches_patterns = interest.matches_patterns
        self.is_worth_a_root = interest.is_worth_a_root
        self.names_axes = interest.names_axes
        self.watched = watched or {}
        self.program: str | None = None
        self.by_default = solution.assumed.by_default
        focus = solution.assumed.focus
        self.asked = focus.function if focus is not None else None
        self._running: dict[str, None] = {}
        self._depth = 0
        self._sites: dict[tuple[str, str], Sites | None] = {}

    def new_number(self) -> int:
        """Returns a number that no object has yet."""
        return next(self._solution.counter)

    def parse_toml(self, text: str) -> Table | None:
        """Returns the contents of a TOML text; None if it is invalid."""
        found = parse_toml(text)
        return found if isinstance(found, dict) else None

    def parse_yaml(self, text: str) -> object:
        """Returns the value of a YAML text; None if it is invalid."""
        return parse_yaml(text)

    def jax_version_of(self, path: str) -> tuple[int, ...]:
        """Returns the version of JAX that a file uses."""
        return version_in(path, JAX, self._solution.assumed.folder_versions, self._solution.assumed.jax_version)

    def version_of(self, library: str, path: str) -> tuple[int, ...]:
        """Returns the version of another library that a file uses; empty if it is unknown."""
        return version_in(path, library, self._solution.assumed.folder_versions)

    def devices_of(self, path: str) -> Topology | None:
        """Returns the target devices of a file."""
        return devices_for(self._solution.facts.get(path), self._solution.assumed.devices).target

    def is_running(self, path: str) -> bool:
        """Returns whether a file's top level or program is running, so that its variables may change."""
        return path in self._running or path == self.program

    def sites_of(self, path: str, block: str) -> Sites | None:
        """Returns the sites that earlier runs of a block created; None if it runs for the first time."""
        key = path, block
        sites = self._sites.get(key)
        if sites is None:
            # Half of all functions run only once, so their sites are not worth the memory.
            sites = self._sites[key] = [] if key in self._sites else None
        return sites

    def facts(self, path: str) -> FileFacts | None:
        """Returns the facts of a file."""
        return self._solution.facts.get(path)

    def locate(self, importer: str, level: int, module: str) -> Module | None:
        """Returns the workspace module that an import statement refers to."""
        return self._solution.index.locate(importer, level, module)

    def submodule(self, module: Module, name: str) -> Module | None:
        """Returns a module in a package."""
        return self._solution.index.submodule(module, name)

    def module_state(self, path: str, asking: Run) -> ModuleState | None:
        """Returns the state after a module's top level, partial while it runs; None if unknown or nested too deeply."""
        solution = self._solution
        if path not in solution.modules:
            if path not in solution.facts:
                return None
            if self._depth + asking.depth > _DEEPEST_OF_ALL:
                # The results depend on which of the running modules is imported first.
                solution.circular.update(self._running)
                asking.is_brief = True
                return None
            self._run_all(path, asking.depth)
        elif path in self._running:
            running = list(self._running)
            solution.circular.update(running[running.index(path) :])
        else:
            self.ledgers.pass_module(path)
        asking.relied.add((path, ""))
        asking.ledger.found.setdefault(path, None)
        return solution.modules[path]

    def _run_all(self, path: str, depth: int) -> None:
        """Runs a module; if many imports are nested, first runs the modules that it imports, one at a time."""
        modules = self._solution.modules
        is_nested = len(self._running) >= _MOST_NESTED
        waiting = [self._begin(path, is_nested=is_nested)]
        while waiting:
            following = next((one for one in waiting[-1][1] if one not in modules), None)
            if following is not None:
                waiting.append(self._begin(following, is_nested=is_nested))
                continue
            self._run(waiting.pop()[0], depth)

    def _begin(self, path: str, *, is_nested: bool) -> tuple[str, Iterator[str]]:
        self._solution.modules[path] = ModuleState(Frame(path, "", None), {})
        self._running[path] = None
        facts = self._solution.facts[path]
        return path, imported_by(facts, path, self._solution.index) if is_nested else iter(())

    def _run(self, path: str, depth: int) -> None:
        solution, key = self._solution, (path, "")
        run = new_run(self, path)
        self._depth += depth + _OF_A_MODULE
        found = contained(solution, key, lambda: finished_module(self, path, solution.modules[path], run))
        self._depth -= depth + _OF_A_MODULE
        del self._running[path]
        solution.results[key] = found
        self.ledgers.add(key, found.ledger)
