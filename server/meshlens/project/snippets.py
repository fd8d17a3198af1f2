"""The snippets for editors that bring none of their own, read from the one file that VS Code reads too."""

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
    """One name that a snippet imports.

    Attributes:
        name: as the snippet calls it: "P".
        dotted: what it stands for: "jax.sharding.PartitionSpec".
        statement: the import of this name alone.
    """

    name: str
    dotted: str
    statement: Import


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet.

    Attributes:
        name: what it is called.
        prefix: what is typed to get it.
        description: what it is for, in a sentence; "(JAX 0.6.1 and later)" at its end says where it works.
        body: its text, with placeholders such as `${1:batch}`; lines end with a newline, the last one without.
            Its imports stand first, so that it is a program where nothing knows better.
    """

    name: str
    prefix: str
    description: str
    body: str

    @property
    def plain(self) -> str:
        """Its text with every placeholder replaced by its default."""
        return filled(self.body)

    @property
    def code(self) -> str:
        """Its text behind the imports, with placeholders."""
        return self.body[len(_imports_of(self.body)) :]

    @property
    def imports(self) -> tuple[SnippetImport, ...]:
        """The names that it imports."""
        lines = _imports_of(self.body).split("\n")
        return tuple(one for line in lines if line for one in _imported(line))

    def works_with(self, version: tuple[int, ...]) -> bool:
        """Returns whether it claims to work with a JAX, without anything that is deprecated there."""
        claim = _CLAIM.search(self.description)
        if claim is None:
            return True
        bound = tuple(map(int, (claim["since"] or claim["before"]).split(".")))
        return version >= bound if claim["since"] else version < bound


def filled(text: str) -> str:
    """A snippet's text with every placeholder replaced by its default."""
    while (simpler := _HOLE.sub(lambda hole: hole[2] or "", text)) != text:
        text = simpler
    return text


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
    """The file: in an installed package beside its modules, in a checkout in the folder that VS Code reads."""
    packaged = files("meshlens") / "snippets" / NAME
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).parents[3] / "snippets" / NAME).read_text("utf-8")
