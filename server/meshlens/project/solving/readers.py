"""An index of the roots that may have read a block; it may list too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlens.axes.runs.roots import RootResult

RootKey = tuple[str, str]


class Readers:
    """Maps each block to the roots that depend on it; filled on first use.

    It grows with consecutive solutions and may contain roots that no longer depend on a block, so callers check the
    results. Thus all solutions of a workspace can share one index.
    """

    __slots__ = ("_blocks", "_first")

    def __init__(self, results: Mapping[RootKey, RootResult]) -> None:
        self._first: Mapping[RootKey, RootResult] = results
        self._blocks: dict[tuple[str, str], tuple[RootKey, ...]] | None = None

    def of(self, block: tuple[str, str]) -> Iterable[RootKey]:
        """Returns the roots that may have read a block."""
        return self._index().get(block, ())

    def add(self, key: RootKey, result: RootResult) -> None:
        """Adds a root's current dependencies."""
        blocks = self._index()
        for block in result.deps:
            known = blocks.get(block, ())
            if key not in known:
                blocks[block] = (*known, key)

    def _index(self) -> dict[tuple[str, str], tuple[RootKey, ...]]:
        if self._blocks is None:
            self._blocks = {}
            first, self._first = self._first, {}
            for key, result in first.items():
                self.add(key, result)
        return self._blocks
