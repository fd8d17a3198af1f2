"""Which blocks differ between two states of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlens.facts.model import FileFacts

BlockKey = tuple[str, str]
"""A path and the key of a block; "header:" before the key for its header alone, "module" for the list of blocks."""


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
        blocks = facts.blocks
        for key in old.blocks.keys() ^ blocks.keys():
            changed |= {(path, key), (path, "header:" + key)}
        for key, block in old.blocks.items():
            other = blocks.get(key)
            if other is None or block.shape is other.shape or block.shape == other.shape:
                continue
            changed.add((path, key))
            if _header(block.shape) != _header(other.shape):
                changed.add((path, "header:" + key))
    return frozenset(changed)


def _header(shape: tuple[object, ...]) -> object:
    function = shape[2] if shape[0] == "fn" and len(shape) == 3 else shape
    return function[:4] + function[5:] if isinstance(function, tuple) and len(function) == 6 else shape
