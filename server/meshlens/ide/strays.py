"""Strays: specs without a mesh and literals that no run passes, and the one axis of the program that they can mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from meshlens.axes.values import Site
from meshlens.ide.axis_symbols import AxisSymbol, axis_symbols
from meshlens.ide.occurrences import Place, place_of
from meshlens.ide.said_plainly import said_plainly
from meshlens.project.solution import RootKey, Solution
from meshlens.project.view import FileView

Block = tuple[str, tuple[Place, ...]]


def with_strays(view: FileView, symbol: AxisSymbol) -> AxisSymbol | Block:
    """A symbol with every stray that can mean no other axis; or the stray that may mean it or another.

    Args:
        view: a file of the workspace.
        symbol: an axis; one that is itself a stray gives the axis that it means.
    """
    named = axis_symbols(view.solution).named(symbol.name)
    axes = [one for one in named if _is_bound(one)]
    specs = [one for one in named if not _is_bound(one) and not one.uses]
    known = {site for one in named for site in one.literals}
    plain = [_plain(symbol.name, site) for site in said_plainly(view, symbol.name) if site not in known]
    together = _Together(view.solution)
    if symbol in specs:
        meant = [axis for axis in axes if together.run(symbol, axis)]
        if len(meant) != 1:
            return _not_known(view, symbol, meant)
        symbol = meant[0]
    elif symbol not in axes:
        return symbol
    whole = symbol
    for stray in (*specs, *plain):
        if not together.run(stray, symbol):
            continue
        meant = [axis for axis in axes if together.run(stray, axis)]
        if len(meant) > 1:
            return _not_known(view, stray, meant)
        whole = replace(whole, literals=whole.literals | stray.literals, sayings=whole.sayings | stray.sayings)
    return whole


def _is_bound(symbol: AxisSymbol) -> bool:
    return bool(symbol.binders) or any(role == "binds" for _, role in symbol.sayings)


def _plain(name: str, site: Site) -> AxisSymbol:
    return AxisSymbol(name, frozenset({site}), frozenset({(site, "uses")}), (), (), (), frozenset())


def _not_known(view: FileView, stray: AxisSymbol, meant: list[AxisSymbol]) -> Block:
    site = min(stray.literals)
    if not meant:
        return f'no mesh with an axis "{stray.name}" is known for this', (place_of(view, site),)
    others = tuple(place_of(view, min(axis.literals)) for axis in meant)
    return f'this may be any of {len(meant)} axes named "{stray.name}"', (place_of(view, site), *others)


class _Together:
    """Which places the same program runs: the roots whose runs read both."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._roots: dict[tuple[str, str], frozenset[RootKey]] = {}
        self._relying: dict[RootKey, list[RootKey]] = defaultdict(list)
        for key, result in solution.results.items():
            for other in result.relied:
                self._relying[other].append(key)

    def run(self, one: AxisSymbol, other: AxisSymbol) -> bool:
        """Whether some root reads both axes."""
        return not self._of(one.literals).isdisjoint(self._of(other.literals))

    def _of(self, sites: Iterable[Site]) -> frozenset[RootKey]:
        return frozenset().union(*(self._reading((site.path, site.block)) for site in sites))

    def _reading(self, block: tuple[str, str]) -> frozenset[RootKey]:
        known = self._roots.get(block)
        if known is None:
            waiting = [key for key, result in self._solution.results.items() if block in result.deps]
            found = set(waiting)
            while waiting:
                for key in self._relying[waiting.pop()]:
                    if key not in found:
                        found.add(key)
                        waiting.append(key)
            known = self._roots[block] = frozenset(found)
        return known
