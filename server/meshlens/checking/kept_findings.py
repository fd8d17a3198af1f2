"""The findings of a file, the state of the workspace they belong to, and the data they depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from meshlens.axes.runs.roots import RootResult
from meshlens.checking.model import Diagnosed
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.project.solving.links import BlockKey, only
from meshlens.project.solving.solution import Solution
from meshlens.project.solving.sorting import Sorted
from meshlens.project.view import FileView

_MOST_CHANGED = 20
"""Maximum number of changed roots for which a file's earlier findings, which take much memory, are kept."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a file, and the state of the workspace they belong to.

    Attributes:
        results: the results of the roots.
        facts: the facts of all files.
        source: the file's bytes.
        found: the findings, including silenced ones.
        sight: the data that rules read when they ran again.
        earlier: the findings in previous states, latest first.
    """

    results: Mapping[tuple[str, str], RootResult]
    facts: Mapping[str, FileFacts]
    source: bytes
    found: tuple[Diagnosed, ...]
    sight: Sight | None = None
    earlier: tuple[Checked, ...] = ()

    def is_of(self, view: FileView) -> bool:
        """Returns whether a file and everything that it depends on are unchanged."""
        solution = view.solution
        if (
            solution.results is not self.results
            or view.source != self.source
            or solution.facts.keys() != self.facts.keys()
        ):
            return False
        path = str(view.path)
        return all(file is solution.facts[name] for name, file in self.facts.items() if name != path)

    def may_help(self, path: Path, solution: Solution) -> bool:
        """Returns whether updating these findings can give the file's current ones without keeping much else in memory.

        The file's top level and the set of files must be unchanged, and only a few roots may have changed.
        """
        if self.results is solution.results:
            return True
        own = (str(path), "")
        if self.results.get(own) is not solution.results.get(own) or self.facts.keys() != solution.facts.keys():
            return False
        now = solution.results
        return sum(now.get(root) is not result for root, result in self.results.items()) <= _MOST_CHANGED

    def behind(self, before: Checked | None, solution: Solution) -> Checked:
        """Returns these findings with those of previous states to which the solution may return."""
        if before is None:
            return self
        earlier = before.earlier
        if before.results is not self.results:
            kept = {id(one.results) for one in solution.earlier}
            earlier = tuple([one for one in (replace(before, earlier=()), *earlier) if id(one.results) in kept])
        return Checked(self.results, self.facts, self.source, self.found, self.sight, earlier)


@dataclass(frozen=True, slots=True)
class Sight:
    """The records of blocks that are tied together.

    Attributes:
        stale: the blocks that changed.
        blocks: the blocks that are tied to them.
        records: their records, by file.
        imports: the keys of the imports at the top of the file that is checked.
    """

    stale: frozenset[BlockKey]
    blocks: frozenset[BlockKey]
    records: Sorted
    imports: frozenset[str]

    def of(self, view: FileView) -> FileView:
        """Returns a view with only these records."""
        return replace(view, solution=replace(view.solution, sorted=self.records, _once={}))


def checked(view: FileView, found: tuple[Diagnosed, ...], sight: Sight | None) -> Checked:
    """Returns the findings of a file in its current state."""
    return Checked(view.solution.results, view.solution.facts, view.source, found, sight)


def sight_of(view: FileView, stale: set[BlockKey]) -> Sight:
    """Returns the records of all blocks that are tied to the given blocks."""
    solution = view.solution
    tied = solution.links.gathered(stale, solution.results)
    names = {name for name, _ in tied.blocks}
    by_file = {name: only(solution.sorted.of(name, tied.roots), tied.blocks) for name in names}
    blocks = view.facts.blocks
    imports = [key for key in view.facts.top if key[0] == "=" and isinstance(blocks[key].header, (Import, ImportFrom))]
    return Sight(frozenset(stale), tied.blocks, Sorted({}, {}, by_file), frozenset(imports))
