"""The findings of a file, the state of the workspace they belong to, and what was looked at to find them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from meshlens.axes.runs.roots import RootResult
from meshlens.checking.model import Diagnosed
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.project.solving.links import BlockKey, only
from meshlens.project.solving.solution import Solution
from meshlens.project.solving.sorting import Sorted
from meshlens.project.view import FileView


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a file, and the state of the workspace they belong to.

    Attributes:
        results: what the roots left behind.
        facts: the facts of all files.
        source: the file's bytes.
        found: what the rules found, silenced or not.
        sight: what the rules that ran again looked at.
        earlier: the same of the last states before, the latest first.
    """

    results: Mapping[tuple[str, str], RootResult]
    facts: Mapping[str, FileFacts]
    source: bytes
    found: tuple[Diagnosed, ...]
    sight: Sight | None = None
    earlier: tuple[Checked, ...] = ()

    def is_of(self, view: FileView) -> bool:
        """Returns whether a file and all that it rests on are again what they were."""
        solution = view.solution
        if (
            solution.results is not self.results
            or view.source != self.source
            or solution.facts.keys() != self.facts.keys()
        ):
            return False
        path = str(view.path)
        return all(file is solution.facts[name] for name, file in self.facts.items() if name != path)

    def behind(self, before: Checked | None, solution: Solution) -> Checked:
        """The same, with the states before it to which the solution may come back."""
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
        blocks: those that are tied to them.
        records: theirs, by file.
        imports: the keys of the imports at the top of the file that is checked.
    """

    stale: frozenset[BlockKey]
    blocks: frozenset[BlockKey]
    records: Sorted
    imports: frozenset[str]

    def of(self, view: FileView) -> FileView:
        """A view with no other records."""
        return replace(view, solution=replace(view.solution, sorted=self.records, _once={}))


def checked(view: FileView, found: tuple[Diagnosed, ...], sight: Sight | None) -> Checked:
    """Returns what was found in a file as it is now."""
    return Checked(view.solution.results, view.solution.facts, view.source, found, sight)


def sight_of(view: FileView, stale: set[BlockKey]) -> Sight:
    """The records of all blocks that are tied to some."""
    solution = view.solution
    tied = solution.links.gathered(stale, solution.results)
    names = {name for name, _ in tied.blocks}
    by_file = {name: only(solution.sorted.of(name, tied.roots), tied.blocks) for name in names}
    blocks = view.facts.blocks
    imports = [key for key in view.facts.top if key[0] == "=" and isinstance(blocks[key].header, (Import, ImportFrom))]
    return Sight(frozenset(stale), tied.blocks, Sorted({}, {}, by_file), frozenset(imports))
