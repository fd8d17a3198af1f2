"""What is being typed: the string, the word and the open brackets before a cursor, read from the text alone.

Code is mostly broken while it is typed, so nothing here needs a tree; the work grows with the statement, not the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.text import Span

_WORD = rb"[\w\x80-\xff]"
_BYTES = re.compile(rb"[rR]?[bB][rR]?[\"']")
_STRING = rb"""[rRbBfFuUtT]{0,2}(?P<quote>\"\"\"|'''|"|')"""
_TOKEN = re.compile(
    _STRING + rb"|(?P<comment>\#[^\n]*)|[=!<>:]=|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>[,=:]|\blambda\b)"
)
_ENDS = {
    b'"': re.compile(rb'(?:\\.|[^"\\\n])*("?)', re.DOTALL),
    b"'": re.compile(rb"(?:\\.|[^'\\\n])*('?)", re.DOTALL),
    b'"""': re.compile(rb'(?:\\.|(?!""")[^\\])*((?:""")?)', re.DOTALL),
    b"'''": re.compile(rb"(?:\\.|(?!''')[^\\])*((?:''')?)", re.DOTALL),
}
_LONG = re.compile(rb"\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*")
_CALLEE = re.compile(rb"((?:" + _WORD + rb"+\s*\.\s*)*" + _WORD + rb"+)[ \t]*$")
_LAST_WORD = re.compile(_WORD + rb"*$")
_NEXT_WORD = re.compile(_WORD + rb"*")
_BEGINS = re.compile(
    rb"[ \t]*(?:@|(?:def|class|return|import|from|with|while|assert|raise|try|elif|except|finally|del|pass|break"
    rb"|continue|global|nonlocal|async)\b)"
)
_NEXT_STATEMENT = re.compile(rb"\n" + _BEGINS.pattern.replace(rb"@|", rb"@\w|"))
_GOES_ON = re.compile(rb"[ \t]*(?:[)\]}.,+*/%|&^<>=-]|(?:if|else|for|and|or|in|is|not)\b)")
_UNFINISHED = frozenset(b",([{=+-*/%|&^<>:~\\.")
_NO_CALLEES = frozenset(b"and assert await elif else for if in is lambda not or print return while with yield".split())

MOST_LINES = 80
MOST_BYTES = 8_000


@dataclass(frozen=True, slots=True)
class Quoted:
    """The string that a cursor is in.

    Attributes:
        span: its contents, as far as they can be told.
        closed: whether its closing quote stands on the line.
    """

    span: Span
    closed: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """A bracket that is open at the cursor.

    Attributes:
        at: where it stands.
        bracket: "(", "[" or "{".
        callee: the dotted name before it, "" if there is none.
    """

    at: int
    bracket: str
    callee: str


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands around a cursor.

    Attributes:
        offset: the cursor.
        string: the string that it is in.
        word: the identifier that it is in or behind.
        openings: the open brackets, innermost first.
        line: where the cursor's line begins.
    """

    offset: int
    string: Quoted | None
    word: Span
    openings: tuple[Opening, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, as it is written.

    Attributes:
        keyword: its keyword.
        value: the text of its value without surrounding blanks.
        text: from the bracket or comma before it to the comma or bracket behind it.
    """

    keyword: str | None
    value: Span
    text: Span


def typed_at(source: bytes, offset: int) -> Typed | None:
    """What is being typed at a cursor, None in a comment or in a string of several lines.

    Args:
        source: the file, as broken as it may be.
        offset: the cursor.
    """
    if _in_long_string(source, offset):
        return None
    line = source.rfind(b"\n", 0, offset) + 1
    tokens = list(_tokens(source, line, offset))
    string = None
    if tokens:
        kind, start, end = tokens[-1]
        if kind == "comment":
            return None
        if kind == "open string" and end == offset:
            if _BYTES.match(source, start):
                return None
            string = _quoted(source, start, offset)
    before = _LAST_WORD.search(source, line, offset)
    after = _NEXT_WORD.match(source, offset)
    word = Span(before.start() if before else offset, after.end() if after else offset)
    return Typed(offset, string, word, tuple(_openings(source, line, tokens)), line)


def arguments_at(source: bytes, bracket: int) -> tuple[Argument, ...]:
    """The arguments behind an open bracket, up to its end or to where the text can no longer belong to it."""
    found: list[Argument] = []
    start, equals, depth, lambdas = bracket + 1, -1, 0, 0
    beyond = _NEXT_STATEMENT.search(source, bracket, bracket + MOST_BYTES)
    last = beyond.start() if beyond is not None else min(len(source), bracket + MOST_BYTES)
    for kind, at, end in _tokens(source, bracket + 1, last):
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
    """The offset behind the colon that ends the head of a compound statement.

    Args:
        source: the file.
        offset: somewhere in the head, outside of brackets.
    """
    depth = 0
    for kind, _, end in _tokens(source, offset, min(len(source), offset + MOST_BYTES)):
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth -= 1
        elif kind == ":" and depth == 0:
            return end
    return None


def statement_start(source: bytes, typed: Typed) -> int | None:
    """Where the statement that the cursor is at the end of begins, if it is no longer than one word.

    Args:
        source: the file.
        typed: what stands around the cursor.
    """
    if typed.openings or typed.string is not None or source[: typed.line].rstrip(b"\r\n").endswith(b"\\"):
        return None
    written = source[typed.line : typed.offset].lstrip()
    return None if written.strip() != written or len(written.split()) > 1 else typed.offset - len(written)


def _argument(source: bytes, start: int, equals: int, end: int) -> Argument:
    keyword = source[start:equals].strip() if equals >= 0 else b""
    is_keyword = equals >= 0 and keyword.decode("utf-8", "replace").isidentifier()
    first = equals + 1 if is_keyword else start
    text = source[first:end]
    left = first + len(text) - len(text.lstrip())
    return Argument(
        keyword.decode("utf-8", "replace") if is_keyword else None,
        Span(left, max(left, first + len(text.rstrip()))),
        Span(start, end),
    )


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


def _tokens(source: bytes, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Strings, comments, brackets, commas and equals signs of a text that begins outside of strings."""
    at = start
    while (found := _TOKEN.search(source, at, end)) is not None:
        at = found.end()
        kind = found.lastgroup
        if kind == "quote":
            closing = _ENDS[found["quote"]].match(source, at, end)
            assert closing is not None
            at = closing.end()
            yield "string" if closing[1] else "open string", found.start(), at
        elif kind == "comment":
            yield "comment", found.start(), at
        else:
            yield found[0].decode(), found.start(), at


def _quoted(source: bytes, start: int, offset: int) -> Quoted:
    quote = source.find(b'"', start, start + 3)
    single = source.find(b"'", start, start + 3)
    first = min(at for at in (quote, single) if at >= 0)
    mark = source[first : first + 1]
    mark = mark * 3 if source[first : first + 3] == mark * 3 else mark
    begin = first + len(mark)
    closing = _ENDS[mark].match(source, offset)
    if closing is not None and closing[1] and len(mark) == 1 and not _swallows(source, closing, offset):
        return Quoted(Span(begin, closing.start(1)), closed=True)
    after = _NEXT_WORD.match(source, offset)
    return Quoted(Span(begin, after.end() if after else offset), closed=False)


def _swallows(source: bytes, closing: re.Match[bytes], offset: int) -> bool:
    """Whether the quote behind the cursor rather opens another string: `psum(x, "|, "batch")`."""
    return any(mark in source[offset : closing.start(1)] for mark in (b",", b"(", b")", b"="))


def _openings(source: bytes, line: int, tokens: list[tuple[str, int, int]]) -> Iterator[Opening]:
    """The brackets that are open behind some tokens of a line, looked for backwards, line by line."""
    closers = 0
    for _ in range(MOST_LINES):
        for kind, at, _ in reversed(tokens):
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
        tokens = list(_tokens(source, line, end))


def _line_above(source: bytes, line: int) -> tuple[int, int] | None:
    """Start and end of the code on the next line above that has some."""
    while line > 0:
        end = line - 1
        line = source.rfind(b"\n", 0, end) + 1
        text = source[line:end]
        if text.strip() and not text.lstrip().startswith(b"#"):
            return line, end
    return None


def _begins_here(source: bytes, line: int, above: tuple[int, int]) -> bool:
    if _BEGINS.match(source, line):
        return True
    if _GOES_ON.match(source, line):
        return False
    end = above[1]
    for kind, at, _ in _tokens(source, *above):
        if kind == "comment":
            end = at
    last = source[above[0] : end].rstrip()
    return not last or last[-1] not in _UNFINISHED


def _callee(source: bytes, at: int) -> str:
    found = _CALLEE.search(source, max(source.rfind(b"\n", 0, at) + 1, at - 200), at)
    if found is None or found[1] in _NO_CALLEES:
        return ""
    return b"".join(found[1].split()).decode("utf-8", "replace")
