"""What an expression speaks of, by the names and attributes in it."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from meshlens.facts.mentioned import is_version_word

_AXIS_WORDS = re.compile(
    r"axis|axes|mesh|pmap|parallel|distributed|device|shard|spmd|replica|multi_?host", re.IGNORECASE
)


def speaks_of_axes(node: Any) -> bool:
    """Whether an expression names something to do with axes, meshes or the number of devices."""
    return any(map(_is_axis_word, _words_in(node)))


def asks_version(test: Any) -> bool:
    """Whether a condition asks which JAX this is, or what it has."""
    return any(map(is_version_word, _words_in(test)))


def mentions(node: Any, names: frozenset[str]) -> bool:
    """Whether an expression mentions one of these names or attributes."""
    return not names.isdisjoint(_words_in(node))


@cache
def _is_axis_word(word: str) -> bool:
    return _AXIS_WORDS.search(word) is not None


@lru_cache(maxsize=2_000)
def _words_in(node: Any) -> frozenset[str]:
    """The names and attributes in an expression; a condition is asked for them several times, whenever it is met."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if type(node) is not tuple or not node:
            continue
        tag = node[0]
        if tag == "name" and len(node) == 3:
            if type(node[2]) is str:
                found.append(node[2])
            continue
        if tag == "const":
            continue
        if tag == "hole":
            found.extend(node[2])
            continue
        if tag == "attr" and len(node) == 4 and type(node[3]) is str:
            found.append(node[3])
        waiting.extend(node)
    return frozenset(found)
