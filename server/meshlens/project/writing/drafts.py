"""Drafts: the edits to be made in a file, for code that adds further edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from meshlens.text import Edit, Span


class Import(NamedTuple):
    """An import statement to add.

    Attributes:
        module: the module that it imports or imports from.
        names: the names after `from … import`; empty for a plain import.
        alias: the alias of a plain import.
        before: an offset that it must precede; None for anywhere.
    """

    module: str
    names: tuple[str, ...] = ()
    alias: str | None = None
    before: int | None = None

    @property
    def text(self) -> str:
        """Returns the statement."""
        if self.names:
            return f"from {self.module} import {', '.join(self.names)}"
        return f"import {self.module} as {self.alias}" if self.alias else f"import {self.module}"

    @property
    def bound(self) -> Iterator[tuple[str, str]]:
        """Yields the names that it imports, each with its local name."""
        for name, _, alias in (one.partition(" as ") for one in self.names):
            yield f"{self.module}.{name}", alias or name
        if not self.names:
            yield self.module, self.alias or self.module
            if self.alias is None:
                yield self.module.split(".")[0], self.module.split(".")[0]


@dataclass(frozen=True, slots=True)
class Draft:
    """The edits to be made in a file; their spans refer to its current text.

    Attributes:
        imports: the imports to add at its top level.
        edits: all other edits.
    """

    imports: tuple[Import, ...] = ()
    edits: tuple[Edit, ...] = ()

    def name_of(self, dotted: str, before: int | None = None) -> str | None:
        """Returns the local name that a planned import gives to a dotted name; None if no import comes early enough."""
        early = [one for one in self.imports if before is None or (one.before is not None and one.before <= before)]
        return next((name for one in early for known, name in one.bound if known == dotted), None)

    def has(self, name: str, inside: Span | None = None) -> bool:
        """Returns whether the edits contain a name, other than as an attribute.

        Args:
            name: the name.
            inside: the span to search; None for the whole file.
        """
        texts = [edit.text for edit in self.edits if inside is None or inside.contains(edit.span)]
        if inside is None:
            texts += [one.text for one in self.imports]
        return any(is_written_in(text.encode(), name) for text in texts)


NO_DRAFT = Draft()


def is_written_in(text: bytes, name: str) -> bool:
    """Returns whether a name occurs in a part of a file, other than as an attribute."""
    raw = name.encode()
    return raw in text and re.search(rb"(?<![\w.])" + re.escape(raw) + rb"\b", text) is not None
