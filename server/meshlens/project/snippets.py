"""The snippets for editors that bring none of their own, read from the one file that VS Code reads too."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

NAME = "meshlens.code-snippets"

_HOLE = re.compile(r"\$(?:\{(\d+)(?::((?:[^{}]|\{[^{}]*\})*))?\}|(\d+))")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet.

    Attributes:
        name: what it is called.
        prefix: what is typed to get it.
        description: what it is for, in a sentence.
        body: its text, with placeholders such as `${1:batch}`; lines end with a newline, the last one without.
    """

    name: str
    prefix: str
    description: str
    body: str

    @property
    def plain(self) -> str:
        """Its text with every placeholder replaced by its default."""
        text = self.body
        while True:
            filled = _HOLE.sub(lambda hole: hole[2] or "", text)
            if filled == text:
                return text
            text = filled


@cache
def read_snippets() -> tuple[Snippet, ...]:
    """All snippets, in the order of the file; it is read once."""
    return parse_snippets(_text())


def parse_snippets(text: str) -> tuple[Snippet, ...]:
    """The snippets of a file in the format of VS Code."""
    found = json.loads(text)
    return tuple(
        Snippet(
            name,
            entry["prefix"],
            entry["description"],
            entry["body"] if isinstance(entry["body"], str) else "\n".join(entry["body"]),
        )
        for name, entry in found.items()
    )


def _text() -> str:
    """The file: in an installed package beside its modules, in a checkout in the folder that VS Code reads."""
    packaged = files("meshlens") / "snippets" / NAME
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[3] / "snippets" / NAME).read_text("utf-8")
