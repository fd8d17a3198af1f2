"""Computes which blocks differ between two states of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlens.axes.runs.dependence import Key, header_of, is_block, worth_of
from meshlens.axes.worth.interest import Interest
from meshlens.facts.content import Shape, function_in, with_body
from meshlens.facts.model import FileFacts

BlockKey = Key


def changed_blocks(
    before: Mapping[str, FileFacts], now: Mapping[str, FileFacts], paths: Iterable[str]
) -> frozenset[BlockKey]:
    """Returns the blocks of the given files that changed, appeared or disappeared, but not those that only moved."""
    changed: set[BlockKey] = set()
    for path in paths:
        old, facts = before[path], now[path]
        if old is facts:
            continue
        if old.top != facts.top:
            changed.add((path, "module"))
        for key in facts.touched_since(old):
            was, block = old.blocks.get(key), facts.blocks.get(key)
            if was is None or block is None:
                changed |= {(path, key), header_of(path, key)}
            elif was.content is not block.content and was.shape is not block.shape and was.shape != block.shape:
                changed.add((path, key))
                if _header(was.shape) != _header(block.shape):
                    changed.add(header_of(path, key))
    return frozenset(changed)


def with_worth(before: Interest, now: Interest, changed: frozenset[BlockKey]) -> frozenset[BlockKey]:
    """Returns the changed blocks, the blocks now less worth running, and the worth of blocks whose worth changed."""
    more, less = now.differing(before, filter(is_block, changed))
    return changed | less | {worth_of(*block) for block in more | less}


def _header(shape: Shape) -> Shape:
    return with_body(shape, ()) if function_in(shape) is not None else shape
