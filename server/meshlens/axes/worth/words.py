"""Guesses what an expression is about (axes, devices, the JAX version) from the names and attributes in it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from meshlens.axes.domain.immutable import immutable
from meshlens.facts.mentioned import is_version_word
from meshlens.facts.nodes import Attribute, Constant, Hole, Name

_AXIS_WORDS = re.compile(
    r"axis|axes|mesh|pmap|parallel|distributed|device|shard|spmd|replica|multi_?host", re.IGNORECASE
)


@immutable
class Said:
    """A guess at what an expression is about.

    Attributes:
        words: the names and attributes in it.
        axes: whether one of them relates to axes, meshes or devices.
        version: whether one of them relates to the JAX version or its features.
    """

    words: frozenset[str]
    axes: bool
    version: bool


@lru_cache(maxsize=200)
def said_by(node: object) -> Said:
    """Guesses what an expression is about; cached because conditions recur."""
    words = _words_in(node)
    return Said(words, any(map(_is_axis_word, words)), any(map(is_version_word, words)))


def speaks_of_axes(node: object) -> bool:
    """Returns whether an expression names something related to axes, meshes or devices."""
    return said_by(node).axes


def mentions(node: object, names: frozenset[str]) -> bool:
    """Returns whether an expression mentions one of these names or attributes."""
    return not names.isdisjoint(said_by(node).words)


@lru_cache(maxsize=2_000)
def _is_axis_word(word: str) -> bool:
    return _AXIS_WORDS.search(word) is not None


def _words_in(node: Any) -> frozenset[str]:
    found: list[str] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is Name:
            found.append(node.name)
        elif kind is Attribute:
            found.append(node.name)
            waiting.append(node.object)
        elif kind is Hole:
            found.extend(node.names)
        elif kind is not Constant:
            waiting.extend([part for part in node if isinstance(part, tuple)])
    return frozenset(found)
