"""The sources of a workspace's files by path, for rules and editor features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol


class HasSource(Protocol):
    """A file with its Python text."""

    @property
    def source(self) -> bytes:
        """Returns the text as UTF-8."""
        ...


class Texts(Mapping[str, bytes]):
    """The sources of files by path."""

    def __init__(self, files: Mapping[str, HasSource]) -> None:
        self._files = files

    def __getitem__(self, path: str) -> bytes:
        return self._files[path].source

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
