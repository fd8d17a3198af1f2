"""Finds unreadable statements and replaces them with holes, so that the code around them can be read.

A hole is an expression. All that is known about it is which names it contains, which of these it seems to assign, and
whether it seems to return. Holes are found line by line from the lines alone, so a statement that is being typed leaves
the same hole in any context. If the header of a compound statement cannot be read, the whole statement is a hole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import kwlist
from typing import NamedTuple, TypeAlias

from meshlens.facts.broken.line_by_line import CLAUSE, COMPOUND, Line, is_readable, lines, stripped
from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node
from meshlens.syntax.sections import Section, is_closed, root_of, section_of, starts_anything
from meshlens.text import Span

_STRING = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?:[^"\\\n]|\\.)*(?:"|$)|' + rb"'(?:[^'\\\n]|\\.)*(?:'|$)|#[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(rb"[A-Za-z_]\w*")
_TARGET = rb"(?!(?:%s)\b)[A-Za-z_][\w.]*[ \t]*" % "|".join(kwlist).encode()
_KEPT = re.compile(rb"(?:%s(?:,[ \t]*%s)*=(?!=)[ \t]*|return[ \t]+)(?=[^\s])" % (_TARGET, _TARGET))
_SET = re.compile(
    rb"^[ \t]*([\w., \t]+?)[ \t]*[-+*/%@&|^]*=(?!=)|"
    rb"\b(?:def|class|as|for|global)[ \t]+([\w, \t]+)|\b(return)\b",
    re.MULTILINE,
)
_FORMATTED = re.compile(rb"(?i)[ft]r?[\"']")
"""Matches a possible start of an f-string or t-string, which may contain quotes of its own kind."""
_HAS_BODY = re.compile(rb"[^\n(\[{]+\n")
_NO_LINE_END = re.compile(rb"[^\n]")
_NOTHING: frozenset[str] = frozenset()
_BLANKS = b" \t\r\n\f"


class Hole(NamedTuple):
    """The known facts about unreadable code.

    Attributes:
        names: the names in it.
        unsettled: the names that it may assign; includes `return` if it may return.
    """

    names: frozenset[str]
    unsettled: frozenset[str]


Holes: TypeAlias = Mapping[int, Hole]
"""Holes, by the start offset of the expression that replaces the code."""

NO_HOLES: Holes = {}


@dataclass(frozen=True, slots=True)
class Finished:
    """A span of a source text with a hole for each unreadable statement in it.

    Attributes:
        text: the whole text with its holes, which are as long as the code that they replace.
        unread: the holes in it.
        root: the syntax tree of the span.
        holes: the spans of the unreadable statements.
    """

    text: bytes
    unread: Holes
    root: Node
    holes: list[Span]


def finished(text: bytes, section: Section) -> Finished:
    """Returns a section with holes in place of its unreadable statements; the rest may still have errors."""
    indent = section.start - text.rfind(b"\n", 0, section.start) - 1
    holes = _holes(text, list(lines(text, section.start, section.end, indent)))
    masked, unread = with_holes(text, holes)
    return Finished(masked, unread, section_of(masked, section.start, section.end).root, holes)


def hole_again(text: bytes, start: int, stop: int) -> Finished | None:
    """Returns a statement being typed, replaced by a hole; None if it is readable or more than it may be broken.

    Args:
        text: the text.
        start: the start of the statement.
        stop: the end of its lines.
    """
    stretch = text[start:stop]
    if not stretch.strip() or stretch[:1] in _BLANKS or stretch.rstrip().endswith(b"\\"):
        return None
    if b"\r" in stretch or b"\f" in stretch or COMPOUND.match(stretch):
        return None
    if not is_closed(text, start, stop) or starts_anything(text, start + 1, stop):
        return None
    found = lines(text, start, len(text), start - text.rfind(b"\n", 0, start) - 1)
    line = next(found)
    if line.span != stripped(text, start, stop) or is_readable(text, line):
        return None
    behind = next(found, None)
    if behind is not None and (
        behind.indent > line.indent or _is_clause_of(text, behind, line) or _goes_on(text, line, behind)
    ):
        return None
    masked, unread = with_holes(text, [line.span])
    root = root_of(masked, start, stop)
    return Finished(masked, unread, root, [line.span]) if not root.has_error and len(items(root)) == 1 else None


def with_holes(text: bytes, holes: Sequence[Span]) -> tuple[bytes, Holes]:
    """Returns source text with an empty tuple of the same length at each given place, and the holes."""
    if not holes:
        return text, NO_HOLES
    made = bytearray(text)
    unread: dict[int, Hole] = {}
    for start, end in holes:
        kept = _KEPT.match(text, start, end)
        at = kept.end() if kept is not None else start
        made[at:end] = _nothing(text[at:end])
        unread[at] = _hole(text[at:end])
    return bytes(made), unread


def _holes(text: bytes, found: Sequence[Line]) -> list[Span]:
    """Returns the unreadable statements: whole compound statements with their decorators, and simple ones."""
    holes: list[Span] = []
    number = 0
    while number < len(found):
        line = found[number]
        behind = found[number + 1] if number + 1 < len(found) else None
        has_stray_body = behind is not None and behind.indent > line.indent and not line.is_head
        if is_readable(text, line) and not has_stray_body:
            number += 1
            continue
        first = _first(text, found, number)
        last = _last(text, found, number)
        start = found[first].span.start
        while holes and holes[-1].end > start:
            holes.pop()
        holes.append(Span(start, found[last].span.end))
        number = last + 1
    return holes


def _first(text: bytes, found: Sequence[Line], number: int) -> int:
    """Returns the number of the line that starts a line's statement: its header, or the first decorator before it."""
    indent = found[number].indent
    is_clause = CLAUSE.match(text, found[number].span.start) is not None
    while number and is_clause:
        number -= 1
        line = found[number]
        if line.indent <= indent:
            indent = line.indent
            is_clause = CLAUSE.match(text, line.span.start) is not None
    while number and found[number - 1].indent == indent and text[found[number - 1].span.start] == ord("@"):
        number -= 1
    return number


def _last(text: bytes, found: Sequence[Line], number: int) -> int:
    """Returns the number of the line that ends a line's statement, with its body, clauses or decorated definition."""
    line = found[number]
    is_decorator = text[line.span.start] == ord("@")
    while number + 1 < len(found):
        behind = found[number + 1]
        if behind.indent == line.indent and is_decorator:
            is_decorator = text[behind.span.start] == ord("@") or not is_readable(text, behind)
        elif behind.indent <= line.indent and not _is_clause_of(text, behind, line):
            break
        number += 1
    return number


def _is_clause_of(text: bytes, behind: Line, line: Line) -> bool:
    return behind.indent == line.indent and CLAUSE.match(text, behind.span.start) is not None


def _goes_on(text: bytes, line: Line, behind: Line) -> bool:
    """Returns whether the grammar reads an unreadable line and the next line as one statement."""
    if line.is_open and not behind.is_open and _FORMATTED.search(text, line.span.start, behind.span.end) is None:
        return False
    return not root_of(text, line.span.start, behind.span.end).has_error


def _hole(code: bytes) -> Hole:
    plain = _STRING.sub(b" ", code)
    is_compound = COMPOUND.match(code) or _HAS_BODY.match(plain)
    return Hole(
        _names_in(plain), _names_in(b" ".join(map(b" ".join, _SET.findall(plain)))) if is_compound else _NOTHING
    )


def _names_in(code: bytes) -> frozenset[str]:
    return frozenset(name.decode() for name in _NAME.findall(code))


def _nothing(code: bytes) -> bytes:
    return b"(%s)" % _NO_LINE_END.sub(b" ", code[1:-1]) if len(code) > 1 else b"0"
