"""A function that was read from its beginning gets the sites that it had before, but for the statement typed in."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

from meshlens.facts.content import Content
from meshlens.facts.model import Block
from meshlens.facts.paths import SIMPLE, Path, Spot, statement_at, with_statement

_HAS_SITE = (str, type(None))
_FIRST, _LAST, _CLASS = (1,), (2,), (1, 3)


def with_old_sites(before: Block, spot: Spot, now: Block) -> tuple[Block, Spot] | None:
    """The block with the sites of the one before; None if it differs in more than the statement that is typed in.

    Args:
        before: the block before.
        spot: the statement that was typed in there.
        now: the block, read from its beginning.
    """
    if len(now.pieces) != 1:
        return None
    same = [(0, 0)]
    if not _is_same(before.shape, now.shape, spot.path, same):
        return None
    statement = statement_at(now.shape, spot.path)
    if statement[0] not in SIMPLE:
        return None
    own: list[int] = []
    made = _renumbered(statement, spot.first, own)
    whole = now.spans[1]
    # What no site stands for any more holds no offset, as it ends before it begins.
    table = array("i", [whole, 0] * (spot.first + len(own)))
    for old, new in [*same, *[(spot.first + place, site) for place, site in enumerate(own)]]:
        table[2 * old], table[2 * old + 1] = now.spans[2 * new], now.spans[2 * new + 1]
    shape = with_statement(before.shape, spot.path, made)
    return Block(now.key, Content(shape, table), now.pieces, now.start), replace(spot, offset=None)


def _is_same(old: Any, new: Any, path: Path | None, same: list[tuple[int, int]]) -> bool:
    """Whether two nodes say the same, but for what stands at the end of a path; notes which sites stand for which."""
    if path == ():
        return True
    if type(old) is not tuple or type(new) is not tuple:
        return type(old) is type(new) and bool(old == new)
    size = len(old)
    if size != len(new):
        return False
    place = path[0] if path else -1
    sites = _sites(old)
    if sites != _sites(new) or (sites and old[0] != new[0]):
        return False
    for number in range(size):
        part, fellow = old[number], new[number]
        if number in sites:
            same.append((part, fellow))
        elif number == place and path is not None:
            if not _is_same(part, fellow, path[1:], same):
                return False
        elif type(part) is tuple:
            if not _is_same(part, fellow, None, same):
                return False
        elif type(part) is not type(fellow) or part != fellow:
            return False
    return True


def _sites(node: Any) -> tuple[int, ...]:
    """Where in a node there are sites."""
    size = len(node)
    if size > 1 and type(node[1]) is int and type(node[0]) in _HAS_SITE:
        return _CLASS if node[0] == "class" and size == 7 else _FIRST
    # What is imported: a name, the one under which it is known, and the place.
    is_import = size == 3 and type(node[2]) is int and type(node[0]) is str and type(node[1]) in _HAS_SITE
    return _LAST if is_import else ()


def _renumbered(node: Any, first: int, own: list[int]) -> Any:
    """A node with sites from a number on, and which sites they were."""
    if type(node) is not tuple:
        return node
    if len(node) > 1 and type(node[1]) is int and type(node[0]) in _HAS_SITE:
        own.append(node[1])
        site = first + len(own) - 1
        return (node[0], site, *[_renumbered(part, first, own) for part in node[2:]])
    return tuple([_renumbered(part, first, own) for part in node])
