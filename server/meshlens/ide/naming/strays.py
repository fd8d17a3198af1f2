"""Finds the axis that each stray means; strays are specs without a mesh and literals that no analyzed route passes."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.values import Site
from meshlens.ide.naming.occurrences import Place, place_of
from meshlens.ide.naming.said_plainly import said_plainly
from meshlens.ide.naming.together import Together
from meshlens.ide.naming.unseen_calls import blocks_under, may_be_called_under
from meshlens.project.axis_symbols import AxisSymbol, axis_symbols
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

Block = tuple[str, tuple[Place, ...]]


def with_strays(view: FileView, symbol: AxisSymbol) -> AxisSymbol | Block:
    """Returns a symbol with every stray that can mean only its axis, or the obstacle if a stray is ambiguous.

    Args:
        view: a file of the workspace.
        symbol: an axis or a stray; for a stray, the axis that it means is used instead.
    """
    named = axis_symbols(view.solution).named(symbol.name)
    axes = [one for one in named if _is_bound(one)]
    strays = [one for one in named if not _is_bound(one) and not one.uses]
    known = {site for one in named for site in one.literals}
    plain = [_plain(symbol.name, site) for site in said_plainly(view, symbol.name) if site not in known]
    meanings = _Meanings(view.solution, axes)
    if symbol.literals in [stray.literals for stray in strays]:
        meant = meanings.of(symbol)
        if len(meant) != 1:
            return _not_known(view, symbol, meant)
        symbol = meant[0]
    elif not _is_bound(symbol):
        return symbol
    use = may_be_called_under(view.solution, symbol, named, meanings.together)
    if use is not None:
        message = f'a map that binds "{symbol.name}" may call this, but no such call was found'
        return message, (place_of(view, use.call),)
    whole = symbol
    for stray in (*strays, *plain):
        meant = meanings.of(stray)
        if symbol not in meant:
            continue
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
        return f'found no mesh with an axis "{stray.name}" for this use', (place_of(view, site),)
    others = tuple(place_of(view, min(axis.literals)) for axis in meant)
    return f'this may be any of {len(meant)} axes named "{stray.name}"', (place_of(view, site), *others)


class _Meanings:
    """Decides which of the axes with the same name a stray can mean."""

    def __init__(self, solution: Solution, axes: list[AxisSymbol]) -> None:
        self._axes = axes
        self.together = Together(solution)
        self._under = [blocks_under(axis) for axis in axes]

    def of(self, stray: AxisSymbol) -> list[AxisSymbol]:
        """Returns the axes named in the same function, else those bound around the stray, else those in its program."""
        near = [axis for axis in self._axes if _in_one_function(stray, axis)]
        if near:
            return near
        blocks = {(site.path, site.block) for site in stray.literals}
        bound = [axis for axis, under in zip(self._axes, self._under, strict=True) if not blocks.isdisjoint(under)]
        return bound or [axis for axis in self._axes if self.together.run(stray.literals, axis.literals)]


def _in_one_function(one: AxisSymbol, other: AxisSymbol) -> bool:
    return any(_holds(left, right) or _holds(right, left) for left in one.literals for right in other.literals)


def _holds(outer: Site, inner: Site) -> bool:
    """Returns whether the first site's block is, or encloses, the second's; only functions and classes count."""
    if outer.path != inner.path or outer.block.startswith("="):
        return False
    return outer.block == inner.block or inner.block.startswith(f"{outer.block}.")
