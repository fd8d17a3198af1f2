"""Snippets for editors that do not read snippet files, from the same file that VS Code reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from meshlens.project.writing.drafts import Import

NAME = "meshlens.code-snippets"

_HOLE = re.compile(r"\$(?:\{(\d+)(?::((?:[^{}]|\{[^{}]*\})*))?\}|(\d+))")
_IMPORTS = re.compile(r"(?:(?:import|from) [^\n]*\n+)+")
_CLAIM = re.compile(r"\(JAX (?:(?P<since>[\d.]+) and later|before (?P<before>[\d.]+))\)$")
_FROM = re.compile(r"from (\S+) import (.*)")


class SnippetImport(NamedTuple):
    """A name that a snippet imports.

    Attributes:
        name: the name in the snippet, such as "P".
        dotted: its dotted name, such as "jax.sharding.PartitionSpec".
        statement: the import of this name alone.
    """

    name: str
    dotted: str
    statement: Import


@dataclass(frozen=True, slots=True)
class Snippet:
    """A snippet.

    Attributes:
        name: its name.
        prefix: the text to type for it.
        description: its purpose in a sentence, possibly ending with a requirement such as "(JAX 0.6.1 and later)".
        body: its text, with placeholders such as `${1:batch}`. Its imports come first, so that it is a complete program
            in editors that cannot add imports.
    """

    name: str
    prefix: str
    description: str
    body: str

    @property
    def plain(self) -> str:
        """Returns the text with every placeholder replaced with its default."""
        return filled(self.body)

    @property
    def code(self) -> str:
        """Returns the text after the imports, with placeholders."""
        return self.body[len(_imports_of(self.body)) :]

    @property
    def imports(self) -> tuple[SnippetImport, ...]:
        """Returns the names that it imports."""
        lines = _imports_of(self.body).split("\n")
        return tuple(one for line in lines if line for one in _imported(line))

    def works_with(self, version: tuple[int, ...]) -> bool:
        """Returns whether, according to its description, it works in a JAX version without using deprecated names."""
        claim = _CLAIM.search(self.description)
        if claim is None:
            return True
        bound = tuple(map(int, (claim["since"] or claim["before"]).split(".")))
        return version >= bound if claim["since"] else version < bound


def filled(text: str) -> str:
    """Returns a snippet's text with every placeholder replaced with its default."""
    while (simpler := _HOLE.sub(lambda hole: hole[2] or "", text)) != text:
        text = simpler
    return text


@cache
def read_snippets() -> tuple[Snippet, ...]:
    """Returns all snippets in the order of the file, which is read once."""
    return parse_snippets(_text())


def parse_snippets(text: str) -> tuple[Snippet, ...]:
    """Returns the snippets in a file in VS Code's format."""
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


def _imports_of(body: str) -> str:
    found = _IMPORTS.match(body)
    return found[0] if found is not None else ""


def _imported(line: str) -> Iterator[SnippetImport]:
    named = _FROM.fullmatch(line)
    if named is not None:
        for text in named[2].split(", "):
            name, _, alias = text.partition(" as ")
            yield SnippetImport(alias or name, f"{named[1]}.{name}", Import(named[1], (text,)))
        return
    module, _, alias = line.removeprefix("import ").partition(" as ")
    yield SnippetImport(alias or module, module, Import(module, alias=alias or None))


def _text() -> str:
    """Returns the text of the snippet file, from the installed package or, in a checkout, from VS Code's folder."""
    packaged = files("meshlens") / "snippets" / NAME
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[3] / "snippets" / NAME).read_text("utf-8")
