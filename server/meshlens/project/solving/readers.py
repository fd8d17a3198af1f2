"""Which roots may have seen a block: an index that only ever names too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshlens.axes.runs.roots import RootResult

RootKey = tuple[str, str]


class Readers:
    """Roots by the blocks that they depend on; made when it is first asked.

    It grows while solutions follow each other, and may name roots that no longer depend on what they stand under:
    whoever asks looks at the result.  So all solutions of a workspace can share one.
    """

    __slots__ = ("_blocks", "_first")

    def __init__(self, results: Mapping[RootKey, RootResult]) -> None:
        self._first: Mapping[RootKey, RootResult] = results
        self._blocks: dict[tuple[str, str], tuple[RootKey, ...]] | None = None

    def of(self, block: tuple[str, str]) -> Iterable[RootKey]:
        """The roots that may have seen a block."""
        return self._index().get(block, ())

    def add(self, key: RootKey, result: RootResult) -> None:
        """Notes what a root depends on now."""
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
