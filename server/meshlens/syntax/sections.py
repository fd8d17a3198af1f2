"""Cuts a text with errors into stretches that are read apart, so that an error spoils no more than its surroundings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from meshlens.syntax.parse import Node, parse_stretch

_HEAD = re.compile(rb"^(?<!\\\n)(?<!\\\r\n)(?!(?:else|elif|except|finally)\b)[A-Za-z_@\x80-\xff]", re.MULTILINE)
_DECORATOR = ord("@")
_MOST_JOINED = 40
_QUOTES = (b'"""', b"'''")


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a text, parsed by itself.

    Attributes:
        start, end: where it lies.
        root: its syntax tree, with the offsets of the whole text.
    """

    start: int
    end: int
    root: Node


def section_starts(text: bytes) -> list[int]:
    """Where statements seem to begin: in the first column, if no line runs on; decorators with what they decorate."""
    return starts_between(text, 0, len(text))[0]


def starts_between(text: bytes, begin: int, end: int) -> tuple[list[int], bool]:
    """The starts in a stretch that begins with one, and whether the text after it belongs to a decorator in it."""
    starts = [begin]
    decorated = text[begin : begin + 1] == b"@"
    for head in _HEAD.finditer(text, begin + 1):
        at = head.start()
        if at >= end:
            break
        begins = text[at] == _DECORATOR
        if not decorated:
            starts.append(at)
        decorated = begins
    return starts, decorated


def starts_anything(text: bytes, begin: int, end: int) -> bool:
    """Tells if something in a stretch begins in the first column, as statements do."""
    return _HEAD.search(text, begin, end) is not None


def sections(text: bytes, starts: Sequence[int], first: int = 0) -> Iterator[Section]:
    """The sections from a number on, each parsed; one that ends inside a string goes on to where the string ends."""
    number = first
    row, at = 0, 0
    while number < len(starts):
        row, at = row + text.count(b"\n", at, starts[number]), starts[number]
        found = _section(text, at, _end(text, starts, number), row)
        step = 1
        if found.root.has_error and not is_closed(text, found.start, found.end):
            for more in range(number + 1, min(number + _MOST_JOINED, len(starts))):
                end = _end(text, starts, more)
                if is_closed(text, found.start, end):
                    joined = _section(text, found.start, end, row)
                    if not joined.root.has_error:
                        found, step = joined, more + 1 - number
                    break
        yield found
        number += step


def is_closed(text: bytes, start: int, end: int) -> bool:
    """Tells if a stretch seems to close the long strings that it opens."""
    return all(text.count(quote, start, end) % 2 == 0 for quote in _QUOTES)


def _end(text: bytes, starts: Sequence[int], number: int) -> int:
    return starts[number + 1] if number + 1 < len(starts) else len(text)


def section_of(text: bytes, start: int, end: int) -> Section:
    """A stretch of a text, parsed by itself."""
    return _section(text, start, end, text.count(b"\n", 0, start))


def _section(text: bytes, start: int, end: int, row: int) -> Section:
    return Section(start, end, parse_stretch(text, start, end, (row, 0)).root_node)


def root_of(text: bytes, start: int, end: int) -> Node:
    """The tree of a stretch, in which rows count from its own first one: to count those before it takes a while."""
    return parse_stretch(text, start, end, (0, 0)).root_node
