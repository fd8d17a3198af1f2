"""Finds statements that are still being typed: what they open is not closed before the next statement begins."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|' + rb"'''(?:[^'\\]|\\.|'(?!''))*'''|"
    rb'"(?!"")(?:[^"\\\n]|\\.)*(?P<double>"|$)|' + rb"'(?!'')(?:[^'\\\n]|\\.)*(?P<single>'|$)|#[^\n]*|"
    rb"(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<line>\n[ \t]*)(?P<head>[A-Za-z_@])?",
    re.DOTALL | re.MULTILINE,
)
_NO_LINE_END = re.compile(rb"[^\n]")


def without_unfinished(stretch: bytes, indent: int) -> bytes | None:
    """A stretch of code with a zero for each unfinished statement, at the same length; None if there is none.

    A bracket is not closed when a line begins with a word, no further in than the line that opened it.

    Args:
        stretch: the code.
        indent: how far its first line is indented.
    """
    made = bytearray(stretch)
    opened: list[int] = []
    at = 0
    cut = False
    for token in _TOKEN.finditer(stretch):
        kind = token.lastgroup
        if kind == "open":
            opened.append(indent)
        elif kind == "close":
            del opened[-1:]
        elif kind in ("double", "single") and not token.group(kind):
            _blank(made, at, token.end())
            cut = True
            opened.clear()
        elif kind in ("line", "head"):
            width = len(token.group("line")) - 1
            if opened and (kind == "line" or width > indent):
                continue
            if opened:
                _blank(made, at, token.start())
                cut = True
                opened.clear()
            if kind == "head":
                at, indent = token.start() + 1 + width, width
    if opened:
        _blank(made, at, len(stretch))
        cut = True
    return bytes(made) if cut else None


def _blank(made: bytearray, start: int, end: int) -> None:
    made[start:end] = b"0" + _NO_LINE_END.sub(b" ", bytes(made[start + 1 : end]))
