"""Gives a function that was read from scratch its previous sites, except in the edited statement."""

from __future__ import annotations

from array import array
from dataclasses import replace
from functools import cache
from typing import Any

from meshlens.facts.content import Content
from meshlens.facts.model import Block
from meshlens.facts.paths import SIMPLE, Path, Spot, statement_at, with_statement


def with_old_sites(before: Block, spot: Spot, now: Block) -> tuple[Block, Spot] | None:
    """Returns the block with its previous sites; None if more than the edited statement differs.

    Args:
        before: the block before.
        spot: the edited statement in it.
        now: the block, read from scratch.
    """
    if len(now.pieces) != 1:
        return None
    same = [(0, 0)]
    if not _is_same(before.shape, now.shape, spot.path, same):
        return None
    statement = statement_at(now.shape, spot.path)
    if not isinstance(statement, SIMPLE):
        return None
    own: list[int] = []
    made = _renumbered(statement, spot.first, own)
    whole = now.spans[1]
    # A site that is no longer used contains no offset, because it ends before it begins.
    table = array("i", [whole, 0] * (spot.first + len(own)))
    for old, new in [*same, *[(spot.first + place, site) for place, site in enumerate(own)]]:
        table[2 * old], table[2 * old + 1] = now.spans[2 * new], now.spans[2 * new + 1]
    shape = with_statement(before.shape, spot.path, made)
    return Block(now.key, Content(shape, table), now.pieces, now.start), replace(spot, offset=None)


def _is_same(old: Any, new: Any, path: Path | None, same: list[tuple[int, int]]) -> bool:
    """Returns whether two nodes are equal except at the end of a path; collects corresponding sites in `same`."""
    if path == ():
        return True
    if type(old) is not type(new):
        return False
    if not isinstance(old, tuple):
        return bool(old == new)
    if len(old) != len(new):
        return False
    place = path[0] if path else -1
    sites = _sites(old)
    for number, (part, fellow) in enumerate(zip(old, new, strict=True)):
        if number in sites:
            same.append((part, fellow))
        elif number == place and path is not None:
            if not _is_same(part, fellow, path[1:], same):
                return False
        elif isinstance(part, tuple):
            if not _is_same(part, fellow, None, same):
                return False
        elif type(part) is not type(fellow) or part != fellow:
            return False
    return True


@cache
def _sites_of(kind: type) -> tuple[int, ...]:
    """Returns the positions of sites in nodes of a class."""
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    return tuple([number for number, field in enumerate(fields) if field in ("site", "name_site")])


def _sites(node: tuple[Any, ...]) -> tuple[int, ...]:
    return _sites_of(type(node))


def _renumbered(node: Any, first: int, own: list[int]) -> Any:
    """Returns a node with its sites numbered from `first`; collects its original sites in `own`."""
    if not isinstance(node, tuple):
        return node
    sites = _sites(node)
    made: list[Any] = []
    for number, part in enumerate(node):
        if number in sites:
            own.append(part)
            made.append(first + len(own) - 1)
        else:
            made.append(_renumbered(part, first, own))
    return tuple.__new__(type(node), made)
