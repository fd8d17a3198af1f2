"""The roots that read options of a command line or environment variables, and all records if nobody passes any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from meshlens.axes.runs.dependence import block_of
from meshlens.facts.model import FileFacts
from meshlens.jaxapi.command_lines import READS_OPTIONS
from meshlens.project.solving.solution import RootKey, Solution
from meshlens.project.solving.sorting import with_others

_AT_ONCE = frozenset({"parse_args", "parse_known_args", "getenv", "environ"})
"""Names with which the top level of a module reads options for all its functions and importers."""
_MOST_ROOTS = 100


def roots_with_options(solution: Solution) -> frozenset[RootKey]:
    """Returns the roots that read options; none if there are too many to run them again."""
    every: set[tuple[str, str]] = set()
    shared: set[RootKey] = set()
    for path, facts in solution.facts.items():
        blocks, is_shared = solution.once_of(f"options {path}", facts, None, partial(_reading, facts))
        every.update([(path, key) for key in blocks])
        if is_shared:
            shared.add((path, ""))
    if not every:
        return frozenset()
    found = {key for key, result in solution.results.items() if any(block_of(one) in every for one in result.deps)}
    waiting = found & shared
    while waiting:
        waiting = {key for key, result in solution.results.items() if key not in found and result.relied & waiting}
        found |= waiting
    return frozenset(found) if len(found) <= _MOST_ROOTS else frozenset()


def _reading(facts: FileFacts) -> tuple[frozenset[str], bool]:
    """Returns the blocks of a file that may read options, and whether its top level may do so."""
    found = {key for key, block in facts.blocks.items() if _reads(block.names)}
    tops = found & set(facts.top)
    names: Iterator[str] = (name for key in tops for name in facts.blocks[key].names)
    return frozenset(found), any(name in _AT_ONCE or name.startswith("DEFINE_") for name in names)


def _reads(names: tuple[str, ...]) -> bool:
    if not READS_OPTIONS.isdisjoint(names) or any(name.startswith("DEFINE_") for name in names):
        return True
    if "argv" in names and "sys" in names:
        return True
    return "environ" in names and ("get" in names or "setdefault" in names)


def with_default_options(solution: Solution, by_default: Solution) -> Solution:
    """Returns a solution in which the roots that read options have the results of a run without any."""
    return replace(
        Solution(solution.facts, solution.index, solution.assumed),
        modules={**solution.modules, **by_default.modules},
        results={**solution.results, **by_default.results},
        interest=solution.interest,
        sorted=with_others(solution.sorted, by_default.sorted),
    )
