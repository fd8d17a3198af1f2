"""Compares facts whose sites may be numbered differently: a statement that is being typed has its own sites."""

from __future__ import annotations

from typing import Any

from meshlens.facts.model import Block, FileFacts


def are_alike(one: FileFacts, other: FileFacts) -> bool:
    """Returns true if two readings of a text say the same about the same places."""
    if (one.top, one.suppressions, one.devices, one.broken) != (
        other.top,
        other.suppressions,
        other.devices,
        other.broken,
    ):
        return False
    if one.blocks.keys() != other.blocks.keys():
        return False
    return all(_blocks_are(block, other.blocks[key]) for key, block in one.blocks.items())


def _blocks_are(one: Block, other: Block) -> bool:
    return one.start == other.start and one.end == other.end and _shapes_are(one, one.shape, other, other.shape)


def _shapes_are(one: Block, shape: Any, other: Block, against: Any) -> bool:
    if type(shape) is not type(against):
        return False
    if not isinstance(shape, tuple):
        return bool(shape == against)
    if len(shape) != len(against):
        return False
    names = getattr(shape, "_fields", [""] * len(shape))
    return all(
        one.span(part) == other.span(fellow) if name in ("site", "name_site") else _shapes_are(one, part, other, fellow)
        for name, part, fellow in zip(names, shape, against, strict=True)
    )
