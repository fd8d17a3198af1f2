"""Finds the first syntax error of a file, and describes it in Python's words."""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from meshlens.facts.model import FileFacts

# A header whose body is missing; the length limits keep the search fast even on hostile lines.
_NO_BODY = re.compile(
    rb"^([ \t]*)(?:(?:async[ \t]+)?(?:class|def|for|while|if|elif|else|try|except|finally|with)\b|[)\]}])"
    rb"[^\n]{0,200}:[ \t]{0,20}(?:#[^\n]{0,200})?\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?!\1[ \t])(?=[ \t]*[^\s#])",
    re.MULTILINE,
)


class SyntaxFault(NamedTuple):
    """The first syntax error of a file.

    Attributes:
        offset: a byte offset on its line.
        reason: Python's message; empty if Python accepts the file and only our grammar cannot read it.
    """

    offset: int
    reason: str


def syntax_fault(source: bytes, facts: FileFacts) -> SyntaxFault | None:
    """Returns the first syntax error of a file, or None.

    The grammar accepts wrong indentation, so Python decides about files that may contain it.

    Args:
        source: the text of the file.
        facts: its facts.
    """
    if facts.broken:
        said = _python_says(source)
        at = facts.broken[0].start
        if said is None:
            return SyntaxFault(at, "")
        return SyntaxFault(at if said.lineno is None else _line_start(source, said.lineno), said.msg)
    if not _is_indented_at_top(source, facts) and _NO_BODY.search(source) is None:
        return None
    said = _python_says(source)
    if not isinstance(said, IndentationError) or said.lineno is None:
        return None
    return SyntaxFault(_line_start(source, said.lineno), said.msg)


def _python_says(source: bytes) -> SyntaxError | None:
    text = source.decode("utf-8-sig", "replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "nested too deeply")
    return None


def _is_indented_at_top(source: bytes, facts: FileFacts) -> bool:
    for key in facts.top:
        start = facts.blocks[key].start
        line = source[source.rfind(b"\n", 0, start) + 1 : start]
        if line and not line.strip(b" \t"):
            return True
    return False


def _line_start(source: bytes, line: int) -> int:
    return sum(map(len, source.splitlines(keepends=True)[: line - 1]))
