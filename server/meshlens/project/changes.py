"""Which blocks differ between two states of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlens.facts.content import Shape, function_in, with_body
from meshlens.facts.model import FileFacts

BlockKey = tuple[str, str]
"""A path and the key of a block; "header:" before the key for its header alone, "module" for the list of blocks."""

_HEADER = "header:"


def changed_blocks(
    before: Mapping[str, FileFacts], now: Mapping[str, FileFacts], paths: Iterable[str]
) -> frozenset[BlockKey]:
    """The blocks of some files that changed, came or went; what only moved has not changed."""
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
                changed |= with_headers([(path, key)])
            elif was.content is not block.content and was.shape is not block.shape and was.shape != block.shape:
                changed.add((path, key))
                if _header(was.shape) != _header(block.shape):
                    changed.add((path, _HEADER + key))
    return frozenset(changed)


def blocks_of(keys: Iterable[BlockKey]) -> frozenset[BlockKey]:
    """The blocks alone, without headers and lists of blocks."""
    return frozenset((path, key) for path, key in keys if key != "module" and not key.startswith(_HEADER))


def with_headers(blocks: Iterable[BlockKey]) -> frozenset[BlockKey]:
    """Some blocks and the header of each."""
    return frozenset(one for path, key in blocks for one in ((path, key), (path, _HEADER + key)))


def _header(shape: Shape) -> Shape:
    return with_body(shape, ()) if function_in(shape) is not None else shape
