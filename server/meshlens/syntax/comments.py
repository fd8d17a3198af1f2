"""Finds long runs of comments, which the grammar parses in quadratic time, to hide their inner lines from it.

At each comment, the grammar scans all following comments for the indentation of the next statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_COMMENT = re.compile(rb"\n([ \t\f]*)#[^\n]*")
_MANY = 50
"""Minimum number of equally indented comments in a run whose inner lines are hidden; the tree stays the same."""

_VERY_MANY = 500
"""Minimum number of comments in a run whose inner lines are hidden even if their indentation differs."""


class Gap(NamedTuple):
    """The hidden lines in a run of comments: from the end of its first comment to the `#` of its last one."""

    start: int
    end: int


def gaps_between(text: bytes, start: int, end: int) -> list[Gap]:
    """Returns the gaps in a span; the grammar need not see them, unless they are inside a string."""
    if text.count(b"#", start, end) < _MANY:
        return []
    return [gap for run in _runs(text, start, end) for gap in _gaps(text, run)]


def _runs(text: bytes, start: int, end: int) -> Iterator[list[re.Match[bytes]]]:
    """Yields runs of comments with only blank lines between them."""
    run: list[re.Match[bytes]] = []
    for comment in _COMMENT.finditer(text, start, end):
        if run and not _is_blank(text, run[-1].end(), comment.start()):
            yield run
            run = []
        run.append(comment)
    yield run


def _gaps(text: bytes, run: list[re.Match[bytes]]) -> Iterator[Gap]:
    if len(run) >= _VERY_MANY:
        yield _gap(run)
        return
    piece: list[re.Match[bytes]] = []
    for comment in run if len(run) >= _MANY else ():
        if piece and comment[1] != piece[0][1]:
            if len(piece) >= _MANY:
                yield _gap(piece)
            piece = []
        piece.append(comment)
    if len(piece) >= _MANY:
        yield _gap(piece)


def _gap(run: list[re.Match[bytes]]) -> Gap:
    return Gap(run[0].end(), run[-1].end(1))


def _is_blank(text: bytes, start: int, end: int) -> bool:
    return start == end or text[start:end].isspace()
