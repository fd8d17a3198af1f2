"""Finds the logical lines of a source text by brackets and strings alone, and checks which are readable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.syntax.parse import parse
from meshlens.text import Span

_TOKEN = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?!"")(?:[^"\\\n]|\\.)*(?P<double>"|$)|' + rb"'(?!'')(?:[^'\\\n]|\\.)*(?P<single>'|$)|(?P<comment>#[^\n]*)|"
    rb"(?P<open>[(\[{])|(?P<close>[)\]}])|\\\r?\n|(?P<line>\n[ \t]*)",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(rb"[A-Za-z_@\x80-\xff]")
_BLANKS = b" \t\r\n\f"

CLAUSE = re.compile(rb"(?:elif|else|except|finally|case)\b")
"""Matches the start of a clause that is valid only after the statement that it belongs to."""

COMPOUND = re.compile(rb"(?:if|for|while|with|def|class|async|match|try|elif|else|except|finally|case)\b|@")

_BEFORE_CLAUSE = {
    b"elif": b"if 0:\n 0\n",
    b"else": b"if 0:\n 0\n",
    b"except": b"try:\n 0\n",
    b"finally": b"try:\n 0\n",
    b"case": b"match 0:\n ",
}
_BEHIND = {b"try": b"\n 0\nfinally:\n 0", b"match": b"\n case 0:\n  0", b"@": b"\ndef f():\n 0", b"case": b"\n  0"}


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line, including the comment after it.

    Attributes:
        span: its span.
        indent: its indentation.
        is_open: whether it has an unclosed bracket or string.
        is_head: whether it ends in a colon, as headers of compound statements do.
    """

    span: Span
    indent: int
    is_open: bool
    is_head: bool


def lines(text: bytes, start: int, end: int, indent: int) -> Iterator[Line]:
    """Yields the logical lines of a span.

    An unclosed bracket ends at a line that begins with a word and is not indented more than the bracket's line.

    Args:
        text: the text.
        start: the start of the first line.
        end: the end of the span.
        indent: the indentation of the first line.
    """
    at: int | None = start
    opened, is_open = 0, False
    code_end: int | None = None
    for token in _TOKEN.finditer(text, start, end):
        kind = token.lastgroup
        if kind == "open":
            opened += 1
        elif kind == "close":
            is_open |= not opened
            opened -= bool(opened)
        elif kind in ("double", "single"):
            is_open |= not token.group(kind)
        elif kind == "comment":
            code_end = token.start() if not opened else None
        elif kind == "line":
            behind = text[token.end() : min(token.end() + 1, end)]
            is_blank = not behind.strip(_BLANKS) or behind == b"#"
            width = token.end() - token.start() - 1
            if opened and (is_blank or width > indent or not _WORD.match(behind)):
                continue
            if at is not None:
                yield _line(text, at, token.start(), code_end, indent, is_open or opened > 0)
            at, opened, is_open, code_end = None, 0, False, None
            if not is_blank:
                at, indent = token.end(), width
    if at is not None:
        yield _line(text, at, end, code_end, indent, is_open or opened > 0)


def is_readable(text: bytes, line: Line) -> bool:
    """Returns whether a logical line can be parsed, given a suitable context."""
    if line.is_open:
        return False
    content = text[line.span.start : line.span.end]
    found = COMPOUND.match(content)
    if found is None:
        return not parse(content).has_error
    word = found.group()
    before = _BEFORE_CLAUSE.get(word, b"")
    if not parse(before + content + _BEHIND.get(word, b"\n 0")).has_error:
        return True
    return word != b"@" and not parse(before + content).has_error


def stripped(text: bytes, start: int, end: int) -> Span:
    """Returns a span without whitespace at its end."""
    return Span(start, start + len(text[start:end].rstrip(_BLANKS)))


def _line(text: bytes, start: int, end: int, code_end: int | None, indent: int, is_open: bool) -> Line:
    code = text[start : code_end if code_end is not None else end].rstrip(_BLANKS)
    return Line(stripped(text, start, end), indent, is_open, code.endswith(b":"))
