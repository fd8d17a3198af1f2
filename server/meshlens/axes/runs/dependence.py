"""The dependencies of a run: whole blocks, and of some only their header or what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Set
from sys import intern

Key = tuple[str, str]
"""A path and the key of a block, or "module" for the list of blocks; with a word before it, a part of a block."""

_HEADER = "header:"
_WORTH = "worth:"


def header_of(path: str, block: str) -> Key:
    """Returns what stands before a function's body."""
    return path, intern(_HEADER + block)


def worth_of(path: str, block: str) -> Key:
    """Returns whether a block is a root, and entered where it is called: other blocks decide about that as well."""
    return path, intern(_WORTH + block)


def is_block(key: Key) -> bool:
    """Returns whether this is a whole block."""
    return key[1] != "module" and not key[1].startswith((_HEADER, _WORTH))


def is_read(key: Key) -> bool:
    """Returns whether something is read, and not only weighed."""
    return not key[1].startswith(_WORTH)


def without_twice(keys: Set[Key]) -> Iterator[Key]:
    """The same without the headers of blocks that are there as a whole."""
    for key in keys:
        path, block = key
        if not block.startswith(_HEADER) or (path, block[len(_HEADER) :]) not in keys:
            yield key
