"""Splits a class with errors into its members, so that an error in one method leaves the others unchanged."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from meshlens.facts.broken.holes import NO_HOLES, Holes, finished
from meshlens.facts.lower.functions import definition_of, is_function, name_of
from meshlens.facts.model import Block
from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node, broken_spans
from meshlens.syntax.sections import Section, section_of, sections
from meshlens.text import Span

_CLASS = re.compile(rb"(?:@[^\n]*\n)*class\b")
_FIRST = re.compile(rb"^([ \t]+)(?:async[ \t]+def|def|@)", re.MULTILINE)
_STUB = b"def f():(0", b")"
_REST = re.compile(rb"(?:\s|#[^\n]*)*")
_HEADS = frozenset((b"def", b"async", b"class", b"@"))
_NO_LINE_END = re.compile(rb"[^\n]")


@dataclass(frozen=True, slots=True)
class Members:
    """A class whose broken members are removed.

    Attributes:
        masked: the whole text, with an empty function or nothing in place of each broken member.
        rest: the section, parsed from that text; it has no error.
        errors: the spans of unreadable code in the broken members.
        functions: the members that are still functions, by their start, with the whole text that contains them and its
            holes.
    """

    masked: bytes
    rest: Section
    errors: list[Span]
    functions: dict[int, tuple[Node, bytes, Holes]]


def members_of(text: bytes, section: Section, known: Mapping[int, Block], most: int) -> Members | None:
    """Returns a class without its broken members; None if it is not a class, has too many, or has other errors.

    Args:
        text: the file's text.
        section: a section of it with an error.
        known: functions without an error, by their start.
        most: the maximum number of broken members.
    """
    first = _FIRST.search(text, section.start, section.end)
    if not _CLASS.match(text, section.start, section.end) or first is None:
        return None
    starts = _starts(text, first, section.end)
    broken = list(islice((one for one in _members(text, starts, known) if one.root.has_error), most + 1))
    if len(broken) > most:
        return None
    functions: dict[int, tuple[Node, bytes, Holes]] = {}
    errors: list[Span] = []
    masked = bytearray(text)
    for member in broken:
        without = finished(text, member)
        is_sound = not without.root.has_error
        errors += without.holes if is_sound else [Span(*span) for span in broken_spans(member.root)]
        node, whole, names = _function(member) if not is_sound else None, text, NO_HOLES
        if node is None:
            node = _function(Section(member.start, member.end, without.root))
            whole, names = without.text, without.unread
        blank = _NO_LINE_END.sub(b" ", text[member.start : member.end])
        if node is not None:
            functions[member.start] = node, whole, names
            size = node.end_byte - member.start - len(_STUB[1])
            # Comments after the function stay: the grammar counts comments at the end of a class as part of it.
            behind = text[node.end_byte : member.end] if _REST.fullmatch(text, node.end_byte, member.end) else b""
            blank = b"".join((_STUB[0], blank[len(_STUB[0]) : size], _STUB[1], behind or blank[size + len(_STUB[1]) :]))
        masked[member.start : member.end] = blank
    if not broken:
        return None
    rest = section_of(bytes(masked), section.start, section.end)
    if rest.root.has_error or len(items(rest.root)) != 1:
        return None
    return Members(bytes(masked), rest, errors, functions)


def _starts(text: bytes, first: re.Match[bytes], end: int) -> list[int]:
    """Returns the starts of the members from the first function on, and the end of the last member."""
    head = re.compile(rb"^" + first.group(1) + rb"(?!(?:else|elif|except|finally)\b)(@|\w+)", re.MULTILINE)
    starts: list[int] = []
    before = b""
    for found in head.finditer(text, first.start(), end):
        word = found.group(1)
        if before != b"@" and (word in _HEADS or before in _HEADS):
            starts.append(found.start(1))
        before = word
    return [*starts, end]


def _members(text: bytes, starts: list[int], known: Mapping[int, Block]) -> Iterator[Section]:
    """Yields the members that are not known to be valid, each parsed on its own."""
    number = 0
    while number < len(starts) - 1:
        start = starts[number]
        block = known.get(start)
        if block is not None and _REST.fullmatch(text, block.end, starts[number + 1]):
            number += 1
            continue
        member = next(sections(text, starts, number))
        yield member
        number = bisect_left(starts, member.end)


def _function(member: Section) -> Node | None:
    """Returns the function that a broken member defines; None if it no longer defines one."""
    found = items(member.root)
    if member.root.is_error or len(found) != 1 or not is_function(found[0]):
        return None
    definition = definition_of(found[0])
    start, end = found[0].byte_range
    fits = start == member.start and end - start > len(_STUB[0]) + len(_STUB[1])
    return found[0] if fits and definition is not None and name_of(definition) is not None else None
