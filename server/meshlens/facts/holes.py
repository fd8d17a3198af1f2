"""Finds the statements that cannot be read, so that what is around them can be: each leaves a hole.

A hole is an expression of which nothing is known but which names are in it; what seems to be assigned or returned is.
Which they are is told line by line and from nothing but the lines themselves, so a statement that is being typed leaves
the same hole whatever stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import kwlist
from typing import TypeAlias

from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node, parse
from meshlens.syntax.sections import Section, is_closed, section_of, starts_anything
from meshlens.text import Span

_TOKEN = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?!"")(?:[^"\\\n]|\\.)*(?P<double>"|$)|' + rb"'(?!'')(?:[^'\\\n]|\\.)*(?P<single>'|$)|#[^\n]*|"
    rb"(?P<open>[(\[{])|(?P<close>[)\]}])|\\\r?\n|(?P<line>\n[ \t]*)",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(rb"[A-Za-z_@\x80-\xff]")
_HEAD = re.compile(rb"(?:if|for|while|with|def|class|async)\b")
_PART = re.compile(rb"(?:elif|else|try|except|finally|match|case)\b|@")
_STRING = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?:[^"\\\n]|\\.)*(?:"|$)|' + rb"'(?:[^'\\\n]|\\.)*(?:'|$)|#[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_NAME = re.compile(rb"[A-Za-z_]\w*")
_TARGET = rb"(?!(?:%s)\b)[A-Za-z_][\w.]*[ \t]*" % "|".join(kwlist).encode()
_KEPT = re.compile(rb"(?:%s(?:,[ \t]*%s)*=(?!=)[ \t]*|return[ \t]+)(?=[^\s])" % (_TARGET, _TARGET))
_NO_LINE_END = re.compile(rb"[^\n]")
_BLANKS = b" \t\r\n\f"


Holes: TypeAlias = Mapping[int, frozenset[str]]
"""Where the expressions stand of which nothing is known, and which names are in them."""

NO_HOLES: Holes = {}


@dataclass(frozen=True, slots=True)
class Finished:
    """A stretch of a text with a hole for each statement in it that cannot be read.

    Attributes:
        text: the whole text, at the same length.
        names: the holes in it.
        root: the stretch, parsed.
        holes: where the statements were.
    """

    text: bytes
    names: Holes
    root: Node
    holes: list[Span]


def finished(text: bytes, section: Section) -> Finished:
    """A section in which what cannot be read is left out; that may not be enough to read the rest."""
    indent = section.start - text.rfind(b"\n", 0, section.start) - 1
    holes = [span for span, is_open in lines(text, section.start, section.end, indent) if is_hole(text, span, is_open)]
    masked, names = with_holes(text, holes)
    return Finished(masked, names, section_of(masked, section.start, section.end).root, holes)


def hole_again(text: bytes, start: int, stop: int) -> Finished | None:
    """The hole that a statement leaves which is being typed, with its lines parsed; None if it may be another one.

    Args:
        text: the text.
        start: where the statement begins.
        stop: where its lines end.
    """
    stretch = text[start:stop]
    if not stretch.strip() or stretch[:1] in _BLANKS or stretch.rstrip().endswith(b"\\"):
        return None
    if b"\r" in stretch or b"\f" in stretch:
        return None
    if not is_closed(text, start, stop) or starts_anything(text, start + 1, stop):
        return None
    found = lines(text, start, len(text), start - text.rfind(b"\n", 0, start) - 1)
    line, is_open = next(found)
    if line != _stripped(text, start, stop) or not is_hole(text, line, is_open):
        return None
    behind = next(found, None)
    # The grammar lets a statement go on behind its line if it is not complete there.
    if behind is not None and not section_of(text, start, behind[0].end).root.has_error:
        return None
    masked, names = with_holes(text, [line])
    root = section_of(masked, start, stop).root
    return Finished(masked, names, root, [line]) if not root.has_error and len(items(root)) == 1 else None


def lines(text: bytes, start: int, end: int, indent: int) -> Iterator[tuple[Span, bool]]:
    """The logical lines of a stretch, comments behind them included, and whether what they open stays open.

    A bracket stays open when a line begins with a word, no further in than the line that opened it.

    Args:
        text: the text.
        start: where the first one begins.
        end: where the stretch ends.
        indent: how far the first one is indented.
    """
    at: int | None = start
    opened, is_open = 0, False
    for token in _TOKEN.finditer(text, start, end):
        kind = token.lastgroup
        if kind == "open":
            opened += 1
        elif kind == "close":
            is_open |= not opened
            opened -= bool(opened)
        elif kind in ("double", "single"):
            is_open |= not token.group(kind)
        elif kind == "line":
            behind = text[token.end() : min(token.end() + 1, end)]
            is_blank = not behind.strip(_BLANKS) or behind == b"#"
            width = token.end() - token.start() - 1
            if opened and (is_blank or width > indent or not _WORD.match(behind)):
                continue
            if at is not None:
                yield _stripped(text, at, token.start()), is_open or opened > 0
            at, opened, is_open = None, 0, False
            if not is_blank:
                at, indent = token.end(), width
    if at is not None:
        yield _stripped(text, at, end), is_open or opened > 0


def is_hole(text: bytes, line: Span, is_open: bool) -> bool:
    """Whether a logical line cannot be read; of the parts of a compound statement that is told for its head alone."""
    content = text[line.start : line.end]
    if is_open or _PART.match(content):
        return is_open
    if not parse(content).has_error:
        return False
    return not _HEAD.match(content) or parse(content + b"\n 0").has_error


def with_holes(text: bytes, holes: Sequence[Span]) -> tuple[bytes, Holes]:
    """A text in which empty tuples stand at some places, as long as what was there, and the holes that these are."""
    if not holes:
        return text, NO_HOLES
    made = bytearray(text)
    names: dict[int, frozenset[str]] = {}
    for start, end in holes:
        kept = _KEPT.match(text, start, end)
        at = kept.end() if kept is not None else start
        made[at:end] = _nothing(text[at:end])
        names[at] = _names_in(text[at:end])
    return bytes(made), names


def _nothing(code: bytes) -> bytes:
    return b"(%s)" % _NO_LINE_END.sub(b" ", code[1:-1]) if len(code) > 1 else b"0"


def _names_in(code: bytes) -> frozenset[str]:
    return frozenset(name.decode() for name in _NAME.findall(_STRING.sub(b" ", code)))


def _stripped(text: bytes, start: int, end: int) -> Span:
    return Span(start, start + len(text[start:end].rstrip(_BLANKS)))
