"""What the interpreter sees of a workspace while it is being solved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meshlens.axes.frames import Frame, Sites
from meshlens.axes.interest import Interest
from meshlens.axes.roots import result_of, run_module
from meshlens.axes.run import ModuleState, Run
from meshlens.axes.values import Module
from meshlens.devices.topology import Topology
from meshlens.facts.model import FileFacts, Shape
from meshlens.project.devices import devices_for
from meshlens.project.jax_folders import version_in
from meshlens.project.ledgers import AsOfTurn, OneAfterTheOther

if TYPE_CHECKING:
    from meshlens.project.solution import Solution


class SolvingWorld:
    """The files of a solution that is being made; modules run when they are first asked for.

    Attributes:
        ledgers: what the roots that ran have left.
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
        self.is_worth_a_root = interest.is_worth_a_root
        self.names_axes = interest.names_axes
        self.watched = watched or {}
        self.program: str | None = None
        self._running: list[str] = []
        self._sites: dict[tuple[str, str], Sites | None] = {}

    def new_number(self) -> int:
        """A number that no object has."""
        return next(self._solution.counter)

    def jax_version_of(self, path: str) -> tuple[int, ...]:
        """The version of JAX that a file uses."""
        return version_in(path, self._solution.jax_folders, self._solution.jax_version)

    def devices_of(self, path: str) -> Topology | None:
        """The devices that a file is meant for."""
        return devices_for(self._solution.facts.get(path), self._solution.devices).target

    def is_running(self, path: str) -> bool:
        """Whether a file's top level is being run, or the file as a program, so that its variables may change."""
        return path in self._running or path == self.program

    def sites_of(self, path: str, block: str) -> Sites | None:
        """The sites of a block that runs of it have asked for; None where it runs for the first time."""
        key = path, block
        sites = self._sites.get(key)
        if sites is None:
            # Half of all functions run once only: what they ask for is not worth the memory.
            sites = self._sites[key] = [] if key in self._sites else None
        return sites

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file."""
        return self._solution.facts.get(path)

    def locate(self, importer: str, level: int, module: str) -> Module | None:
        """The workspace module that an import statement means."""
        return self._solution.index.locate(importer, level, module)

    def submodule(self, module: Module, name: str) -> Module | None:
        """A module inside a package."""
        return self._solution.index.submodule(module, name)

    def module_state(self, path: str, asking: Run) -> ModuleState | None:
        """What a module's top level leaves behind; partial while it is being run."""
        state = self._solution.modules.get(path)
        if state is None:
            if path not in self._solution.facts:
                return None
            state = ModuleState(Frame(path, "", None), {})
            self._solution.modules[path] = state
            run = Run(self, path)
            self._running.append(path)
            run_module(self, path, state, run)
            self._running.pop()
            self._solution.results[(path, "")] = found = result_of(run)
            self.ledgers.add((path, ""), found.ledger)
        elif path in self._running:
            self._solution.circular.update(self._running[self._running.index(path) :])
        else:
            self.ledgers.pass_module(path)
        asking.relied.add((path, ""))
        asking.ledger.found.setdefault(path, None)
        return state
