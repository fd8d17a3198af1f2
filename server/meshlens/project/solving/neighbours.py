"""The part of a large workspace that matters to one file: the roots that pass through it, and the files they read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from meshlens.axes.runs.dependence import is_read
from meshlens.project.solving.solution import RootKey, Solution


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Everything needed to analyze a file as accurately as with the whole workspace.

    Attributes:
        roots: the roots of other files whose runs pass through the file.
        files: the files that these roots and the file's own roots read.
    """

    roots: tuple[RootKey, ...] = ()
    files: tuple[str, ...] = ()


def neighbourhoods(solution: Solution) -> dict[str, Neighbourhood]:
    """Returns the neighborhood of every file in a solved workspace."""
    read_by = {key: {dep[0] for dep in result.deps if is_read(dep)} for key, result in solution.results.items()}
    passing: dict[str, list[RootKey]] = defaultdict(list)
    for key, files in read_by.items():
        for path in files | {key[0]}:
            passing[path].append(key)
    found = {}
    for path, keys in passing.items():
        files = {path}.union(*(read_by[key] for key in keys))
        others = tuple(sorted(key for key in keys if key[0] != path))
        found[path] = Neighbourhood(others, tuple(sorted(files & solution.facts.keys())))
    return found
