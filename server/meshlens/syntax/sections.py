"""Splits source with errors into separately parsed sections, so that an error affects only its surroundings."""

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
    """A section of a source text, parsed separately.

    Attributes:
        start, end: its span.
        root: its syntax tree, with the offsets of the whole text.
    """

    start: int
    end: int
    root: Node


def section_starts(text: bytes) -> list[int]:
    """Returns the likely starts of statements: code in the first column, except what a decorator applies to."""
    return starts_between(text, 0, len(text))[0]


def starts_between(text: bytes, begin: int, end: int) -> tuple[list[int], bool]:
    """Returns the starts of statements in a span, the first at its start, and whether the span ends in a decorator."""
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
    """Returns whether anything in a span begins in the first column, as statements do."""
    return _HEAD.search(text, begin, end) is not None


def sections(text: bytes, starts: Sequence[int], first: int = 0) -> Iterator[Section]:
    """Yields the parsed sections from an index on; a section extends past any string that its end would cut."""
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
    """Returns whether a span seems to close its triple-quoted strings."""
    return all(text.count(quote, start, end) % 2 == 0 for quote in _QUOTES)


def _end(text: bytes, starts: Sequence[int], number: int) -> int:
    return starts[number + 1] if number + 1 < len(starts) else len(text)


def section_of(text: bytes, start: int, end: int) -> Section:
    """Returns a section of a source text, parsed separately."""
    return _section(text, start, end, text.count(b"\n", 0, start))


def _section(text: bytes, start: int, end: int, row: int) -> Section:
    return Section(start, end, parse_stretch(text, start, end, (row, 0)).root_node)


def root_of(text: bytes, start: int, end: int) -> Node:
    """Returns the tree of a span, with rows counted from its start, because counting earlier rows takes time."""
    return parse_stretch(text, start, end, (0, 0)).root_node
