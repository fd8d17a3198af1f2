"""Decides whether places run in one program: whether one root reads them all, directly or through its imports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from meshlens.axes.domain.values import Site
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.facts.walking import nodes
from meshlens.project.modules import ModuleIndex
from meshlens.project.solving.solution import RootKey, Solution


class Together:
    """Decides whether sites of a solution run in one program, and caches the results."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._known: dict[tuple[str, str], frozenset[RootKey]] = {}

    def run(self, some: Iterable[Site], others: Iterable[Site]) -> bool:
        """Returns whether some root reads a block from each of the two sets of sites."""
        return not self._roots(some).isdisjoint(self._roots(others))

    def _roots(self, sites: Iterable[Site]) -> frozenset[RootKey]:
        return frozenset().union(*(self._reading((site.path, site.block)) for site in sites))

    def _reading(self, block: tuple[str, str]) -> frozenset[RootKey]:
        known = self._known.get(block)
        if known is None:
            found = {key for key, result in self._solution.results.items() if block in result.deps}
            for path in [path for path, name in found if name == ""]:
                importers = self._importers(path)
                found |= {key for key in self._solution.results if key[0] in importers}
            known = self._known[block] = frozenset(found)
        return known

    def _importers(self, path: str) -> set[str]:
        """Returns the files that import a module, directly or indirectly, and the module itself."""
        found = {path}
        waiting = [path]
        while waiting:
            for importer in self._imported_by.get(waiting.pop(), ()):
                if importer not in found:
                    found.add(importer)
                    waiting.append(importer)
        return found

    @cached_property
    def _imported_by(self) -> Mapping[str, list[str]]:
        return self._solution.once("imported-by", _imported_by)


def _imported_by(solution: Solution) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, facts in solution.facts.items():
        for imported in _imports(path, facts, solution.index):
            found[imported].append(path)
    return found


def _imports(path: str, facts: FileFacts, index: ModuleIndex) -> set[str]:
    """Returns the files that the top-level import statements of a file refer to."""
    found: set[str | None] = set()
    for key in facts.top:
        for node in nodes(facts.blocks[key].shape):
            if isinstance(node, Import):
                modules = [index.locate(path, 0, name) for name, _, _ in node.names]
            elif isinstance(node, ImportFrom):
                package = index.locate(path, node.level, node.module)
                inner = [index.submodule(package, name) for name, _, _ in node.names] if package is not None else []
                modules = [package, *inner]
            else:
                continue
            found.update(module.path for module in modules if module is not None)
    return {one for one in found if one is not None}
