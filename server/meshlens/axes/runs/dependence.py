"""The dependencies of a run: on whole blocks, on headers of blocks, and on whether blocks are worth running."""

from __future__ import annotations

from collections.abc import Iterator, Set
from sys import intern

Key = tuple[str, str]
"""A path and a block's key, or "module" for the file's list of blocks; a prefix limits the dependency on a block."""

_HEADER = "header:"
_WORTH = "worth:"


def header_of(path: str, block: str) -> Key:
    """Returns the dependency on a block's code before the function body."""
    return path, intern(_HEADER + block)


def worth_of(path: str, block: str) -> Key:
    """Returns the dependency on whether a block is a root and whether it is entered, which other blocks also affect."""
    return path, intern(_WORTH + block)


def is_block(key: Key) -> bool:
    """Returns whether a dependency is on a whole block."""
    return key[1] != "module" and not key[1].startswith((_HEADER, _WORTH))


def is_read(key: Key) -> bool:
    """Returns whether a dependency is on code that was read, not only on whether a block is worth running."""
    return not key[1].startswith(_WORTH)


def block_of(key: Key) -> Key:
    """Returns the path and key of the block that a dependency is on."""
    path, block = key
    return path, block.removeprefix(_HEADER).removeprefix(_WORTH)


def without_twice(keys: Set[Key]) -> Iterator[Key]:
    """Yields the dependencies, except those on headers of blocks that are included as a whole."""
    for key in keys:
        path, block = key
        if not block.startswith(_HEADER) or (path, block[len(_HEADER) :]) not in keys:
            yield key
