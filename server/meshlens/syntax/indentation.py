"""Blanks out code indented more deeply than Python accepts, because the grammar's scanner cannot handle it."""

from __future__ import annotations

import re

MOST_STEPS = 100
"""CPython's limit on indentation levels; the scanner miscounts at about five hundred and crashes at a thousand."""

_AS_SPACES = bytes.maketrans(b"\t", b" ")
_DEEP = b"\n" + b" " * MOST_STEPS
_LINE = re.compile(rb"^([ \t]*)[^\s][^\n]*", re.M)


def without_deepest(text: bytes) -> bytes:
    """Returns the text with spaces in place of code that is indented too deeply, keeping its length."""
    plain = text.translate(_AS_SPACES) if b"\t" in text else text
    if _DEEP not in plain:
        return text
    steps = [0]
    made = bytearray(text)
    for line in _LINE.finditer(text):
        width = len(line[1].expandtabs(8))
        while width < steps[-1]:
            steps.pop()
        if width > steps[-1]:
            steps.append(width)
        if len(steps) > MOST_STEPS:
            made[line.end(1) : line.end()] = b" " * (line.end() - line.end(1))
    return bytes(made)
