"""The text being typed: the string, the word and the open brackets before a cursor, read without a syntax tree.

Code is usually broken while it is being typed. Except for a search for triple quotes, the cost depends on the length
of the statement, not of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.ide.completing.tokens import BEGINS_STATEMENT, MOST_BYTES, STRING_ENDS, tokens
from meshlens.text import Span

_WORD = rb"[\w\x80-\xff]"
_BYTES = re.compile(rb"[rR]?[bB][rR]?[\"']")
_LONG = re.compile(rb"\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*")
_CALLEE = re.compile(rb"((?:" + _WORD + rb"+\s*\.\s*)*" + _WORD + rb"+)[ \t]*$")
_LAST_WORD = re.compile(_WORD + rb"*$")
_NEXT_WORD = re.compile(_WORD + rb"*")
_GOES_ON = re.compile(rb"[ \t]*(?:[)\]}.,+*/%|&^<>=-]|(?:if|else|for|and|or|in|is|not)\b)")
_UNFINISHED = frozenset(b",([{=+-*/%|&^<>:~\\.")
_NO_CALLEES = frozenset(b"and assert await elif else for if in is lambda not or print return while with yield".split())

UNNAMED = "()"
MOST_LINES = 80


@dataclass(frozen=True, slots=True)
class Quoted:
    """The string that a cursor is in.

    Attributes:
        span: its contents, as far as they are known.
        closed: whether its closing quote is on the same line.
    """

    span: Span
    closed: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """A bracket that is open at the cursor.

    Attributes:
        at: its offset.
        bracket: "(", "[" or "{".
        callee: the dotted name before the bracket; "" if nothing is called or indexed, `UNNAMED` if the callee has no
            name.
    """

    at: int
    bracket: str
    callee: str


@dataclass(frozen=True, slots=True)
class Typed:
    """The text around a cursor.

    Attributes:
        offset: the cursor.
        string: the string at the cursor.
        word: the identifier at or before the cursor.
        openings: the open brackets, innermost first.
        line: the start of the cursor's line.
    """

    offset: int
    string: Quoted | None
    word: Span
    openings: tuple[Opening, ...]
    line: int


def typed_at(source: bytes, offset: int) -> Typed | None:
    """Returns the text being typed at a cursor; None in a comment, a multi-line string or a very long line.

    Args:
        source: the file, which may be broken.
        offset: the cursor.
    """
    if _in_long_string(source, offset):
        return None
    line = line_start(source, offset)
    if offset - line > MOST_BYTES:
        return None
    found = list(tokens(source, line, offset))
    string = None
    if found:
        kind, start, end = found[-1]
        if kind == "comment":
            return None
        if kind == "open string" and end == offset:
            if _BYTES.match(source, start):
                return None
            string = _quoted(source, start, offset)
    before = _LAST_WORD.search(source, line, offset)
    after = _NEXT_WORD.match(source, offset)
    word = Span(before.start() if before else offset, after.end() if after else offset)
    return Typed(offset, string, word, tuple(_openings(source, line, found)), line)


def line_start(source: bytes, offset: int) -> int:
    """Returns the start of an offset's line."""
    return max(source.rfind(b"\n", 0, offset), source.rfind(b"\r", max(0, offset - MOST_BYTES), offset)) + 1


def statement_start(source: bytes, typed: Typed) -> int | None:
    """Returns the start of the statement that ends at the cursor; None if it is already longer than one word.

    Args:
        source: the file.
        typed: the text around the cursor.
    """
    if typed.openings or typed.string is not None or source[: typed.line].rstrip(b"\r\n").endswith(b"\\"):
        return None
    written = source[typed.line : typed.offset].lstrip()
    return None if written.strip() != written or len(written.split()) > 1 else typed.offset - len(written)


def _in_long_string(source: bytes, offset: int) -> bool:
    if source.count(b'"""', 0, offset) % 2 == 0 and source.count(b"'''", 0, offset) % 2 == 0:
        return False
    at = 0
    while (found := _LONG.search(source, at, offset)) is not None:
        at = found.end()
        if found[0] in (b'"""', b"'''"):
            closing = source.find(found[0], at, offset)
            if closing < 0:
                return True
            at = closing + 3
    return False


def _quoted(source: bytes, start: int, offset: int) -> Quoted:
    quote = source.find(b'"', start, start + 3)
    single = source.find(b"'", start, start + 3)
    first = min(at for at in (quote, single) if at >= 0)
    mark = source[first : first + 1]
    mark = mark * 3 if source[first : first + 3] == mark * 3 else mark
    begin = first + len(mark)
    closing = STRING_ENDS[mark].match(source, offset)
    if closing is not None and closing[1] and len(mark) == 1 and not _swallows(source, closing, offset):
        return Quoted(Span(begin, closing.start(1)), closed=True)
    after = _NEXT_WORD.match(source, offset)
    return Quoted(Span(begin, after.end() if after else offset), closed=False)


def _swallows(source: bytes, closing: re.Match[bytes], offset: int) -> bool:
    """Returns whether the quote after the cursor more likely opens another string: `psum(x, "|, "batch")`."""
    return any(mark in source[offset : closing.start(1)] for mark in (b",", b"(", b")", b"="))


def _openings(source: bytes, line: int, found: list[tuple[str, int, int]]) -> Iterator[Opening]:
    """Yields the brackets that are open after the given tokens of a line, searching backwards line by line."""
    closers = 0
    for _ in range(MOST_LINES):
        for kind, at, _ in reversed(found):
            if kind in (")", "]", "}"):
                closers += 1
            elif kind in ("(", "[", "{"):
                if closers == 0:
                    yield Opening(at, kind, _callee(source, at) if kind != "{" else "")
                else:
                    closers -= 1
        above = _line_above(source, line)
        if above is None or (closers == 0 and _begins_here(source, line, above)):
            return
        line, end = above
        found = list(tokens(source, line, end))


def _line_above(source: bytes, line: int) -> tuple[int, int] | None:
    """Returns the span of the nearest line above that contains code."""
    while line > 0:
        end = line - 1
        line = line_start(source, end)
        text = source[line:end]
        if text.strip() and not text.lstrip().startswith(b"#"):
            return line, end
    return None


def _begins_here(source: bytes, line: int, above: tuple[int, int]) -> bool:
    if BEGINS_STATEMENT.match(source, line):
        return True
    if _GOES_ON.match(source, line):
        return False
    end = above[1]
    for kind, at, _ in tokens(source, *above):
        if kind == "comment":
            end = at
    last = source[above[0] : end].rstrip()
    return not last or last[-1] not in _UNFINISHED


def _callee(source: bytes, at: int) -> str:
    found = _CALLEE.search(source, max(line_start(source, at), at - 200), at)
    if found is None:
        return UNNAMED if source[max(0, at - 200) : at].rstrip(b" \t")[-1:] in (b")", b"]") else ""
    if found[1] in _NO_CALLEES:
        return ""
    return b"".join(found[1].split()).decode("utf-8", "replace")
