"""The call being typed, read from the text because the parser sees no call while its bracket is open."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.project.view import FileView

_FAR = 2000
_CALLEE = re.compile(rb"[A-Za-z_][\w.]*$")
_KEYWORD = re.compile(rb"\s*([A-Za-z_]\w*)\s*=(?!=)")
_STRINGS = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")


@dataclass(frozen=True, slots=True)
class Unclosed:
    """A call without its closing bracket.

    Attributes:
        callee: the dotted name of the callee.
        start: the offset of the callee.
        keyword: the keyword of the argument being typed; None if it is positional.
        position: the number of positional arguments before it.
    """

    callee: str
    start: int
    keyword: str | None
    position: int


def unclosed_call(view: FileView, offset: int) -> Unclosed | None:
    """Returns the innermost call whose bracket is open at an offset; None if there is none in the preceding text."""
    begin = max(0, offset - _FAR)
    text = _STRINGS.sub(lambda found: b"_" * len(found[0]), view.source[begin:offset])
    depth, ends = 0, [len(text)]
    for at in range(len(text) - 1, -1, -1):
        character = text[at : at + 1]
        if character in (b")", b"]", b"}"):
            depth += 1
        elif character in (b"(", b"[", b"{"):
            if depth == 0:
                return _call(text, at, ends, begin) if character == b"(" else None
            depth -= 1
        elif character == b"," and depth == 0:
            ends.append(at)
    return None


def _call(text: bytes, bracket: int, ends: list[int], begin: int) -> Unclosed | None:
    callee = _CALLEE.search(text, 0, bracket)
    if callee is None or text[: callee.start()].rstrip(b" ").endswith((b"def", b"class")):
        return None
    starts = [bracket + 1, *(end + 1 for end in reversed(ends[1:]))]
    arguments = [text[start:end] for start, end in zip(starts, reversed(ends), strict=True)]
    keywords = [_KEYWORD.match(argument) for argument in arguments]
    last = keywords[-1]
    position = sum(keyword is None for keyword in keywords[:-1])
    return Unclosed(callee[0].decode(), begin + callee.start(), last[1].decode() if last else None, position)
