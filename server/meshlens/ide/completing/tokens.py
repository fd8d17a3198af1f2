"""Strings, brackets and commas in Python source, and the arguments of a call, read without a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.text import Span

_STRING = rb"""[rRbBfFuUtT]{0,2}(?P<quote>\"\"\"|'''|"|')"""
_TOKEN = re.compile(_STRING + rb"|(?P<comment>\#[^\n\r]*)|[=!<>:]=|[()\[\]{},=:]|\blambda\b")
STRING_ENDS = {
    b'"': re.compile(rb'(?:\\.|[^"\\\n])*("?)', re.DOTALL),
    b"'": re.compile(rb"(?:\\.|[^'\\\n])*('?)", re.DOTALL),
    b'"""': re.compile(rb'(?:\\.|(?!""")[^\\])*((?:""")?)', re.DOTALL),
    b"'''": re.compile(rb"(?:\\.|(?!''')[^\\])*((?:''')?)", re.DOTALL),
}
BEGINS_STATEMENT = re.compile(
    rb"[ \t]*(?:@|(?:def|class|return|import|from|with|while|assert|raise|try|elif|except|finally|del|pass|break"
    rb"|continue|global|nonlocal|async)\b)"
)
_NEXT_STATEMENT = re.compile(rb"\n" + BEGINS_STATEMENT.pattern.replace(rb"@|", rb"@\w|"))

MOST_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, as written.

    Attributes:
        keyword: its keyword; None if it is positional.
        value: the text of its value, stripped.
        text: its text between the brackets or commas around it.
    """

    keyword: str | None
    value: Span
    text: Span


def arguments_at(source: bytes, bracket: int) -> tuple[Argument, ...]:
    """Returns the arguments after an open bracket, up to its closing bracket or text that cannot belong to the call."""
    found: list[Argument] = []
    start, equals, depth, lambdas = bracket + 1, -1, 0, 0
    beyond = _NEXT_STATEMENT.search(source, bracket, bracket + MOST_BYTES)
    last = beyond.start() if beyond is not None else min(len(source), bracket + MOST_BYTES)
    for kind, at, end in tokens(source, bracket + 1, last):
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                last = at
                break
        elif depth == 0 and kind == "lambda":
            lambdas += 1
        elif depth == 0 and kind == ":":
            lambdas -= lambdas > 0
        elif depth == 0 and kind == "," and lambdas == 0:
            found.append(_argument(source, start, equals, at))
            start, equals = end, -1
        elif depth == 0 and kind == "=" and equals < 0 and lambdas == 0:
            equals = at
    found.append(_argument(source, start, equals, last))
    return tuple(found)


def header_end(source: bytes, offset: int) -> int | None:
    """Returns the offset after the colon that ends the header of a compound statement.

    Args:
        source: the file.
        offset: an offset in the header, outside brackets.
    """
    depth = 0
    for kind, _, end in tokens(source, offset, min(len(source), offset + MOST_BYTES)):
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth -= 1
        elif kind == ":" and depth == 0:
            return end
    return None


def tokens(source: bytes, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Yields the kind and span of each string, comment, bracket, comma, colon, `=` and `lambda` in source text.

    The text must begin outside strings.
    """
    at = start
    while (found := _TOKEN.search(source, at, end)) is not None:
        at = found.end()
        kind = found.lastgroup
        if kind == "quote":
            closing = STRING_ENDS[found["quote"]].match(source, at, end)
            assert closing is not None
            at = closing.end()
            yield "string" if closing[1] else "open string", found.start(), at
        elif kind == "comment":
            yield "comment", found.start(), at
        else:
            yield found[0].decode(), found.start(), at


def _argument(source: bytes, start: int, equals: int, end: int) -> Argument:
    named = _code(source, start, equals) if equals >= 0 else Span(start, start)
    keyword = source[named.start : named.end].decode("utf-8", "replace")
    if keyword.isidentifier():
        return Argument(keyword, _code(source, equals + 1, end), Span(start, end))
    return Argument(None, _code(source, start, end), Span(start, end))


def _code(source: bytes, start: int, end: int) -> Span:
    """Returns a span without whitespace and comments at its ends; if nothing is left, an empty span at its end."""
    comments = {at: stop for kind, at, stop in tokens(source, start, end) if kind == "comment"}
    text = source[start:end]
    first = start + len(text) - len(text.lstrip())
    while first in comments:
        text = source[comments[first] : end]
        first = end - len(text.lstrip())
    last = max(first, start + len(source[start:end].rstrip()))
    starts = {stop: at for at, stop in comments.items()}
    while last in starts and last > first:
        last = max(first, start + len(source[start : starts[last]].rstrip()))
    return Span(first, last)
