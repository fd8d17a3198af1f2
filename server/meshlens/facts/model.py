"""The facts of one file: blocks of small trees without positions, and the tables that restore positions.

A block is the unit of extraction and of memoization: a top-level statement, or a `def` directly in a class body or in
the body of a top-level function. Its *shape* is a tree of nodes (`nodes.py`), each with a site number instead of a
position, so that two blocks that differ only in layout or comments have equal shapes. Nothing here knows about JAX,
paths or tree-sitter.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from meshlens.facts.content import Content, Shape
from meshlens.facts.nodes import FunctionShape, Statements
from meshlens.text import Span

if TYPE_CHECKING:
    from meshlens.facts.paths import Spot

__all__ = ["Block", "DevicesSaid", "FileFacts", "Shape", "Suppression", "moved"]


class Block(NamedTuple):
    """A block of a file.

    Attributes:
        key: identifies the block within its file, even after other blocks change; it is the qualified name of a
            function or class (`train`, `Trainer.step`, `main.loss`), or `=hash` for another statement; a repeated key
            gets `~2`, `~3`, …
        content: its shape, spans and names, independent of its place in the file.
        pieces: (offset in the block's text, distance from the block's start) for the start of each piece of text; a
            marker replaces each nested function that has a separate block, and a new piece begins after it.
        start: the start of the block in the file, the only field that changes when text is inserted before the block.
    """

    key: str
    content: Content
    pieces: tuple[tuple[int, int], ...]
    start: int

    @property
    def shape(self) -> Shape:
        """Returns the shape: a statement, or a function if the block is a separate function block."""
        return self.content.shape

    @property
    def header(self) -> Shape:
        """Returns the shape, possibly without the body of a function."""
        return self.content.header

    @property
    def spans(self) -> array[int]:
        """Returns the start and end of each site as offsets into the block's own text; site 0 is the whole block."""
        return self.content.spans

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names that the block mentions, as in `mentioned.py`, sorted."""
        return self.content.names

    def span(self, site: int) -> Span:
        """Returns the span of a site in the file, in bytes."""
        spans = self.content.spans
        return Span(self._absolute(spans[2 * site]), self._absolute(spans[2 * site + 1]))

    @property
    def end(self) -> int:
        """Returns the end of the block in the file."""
        end = self.spans[1]
        return self.start + end if len(self.pieces) == 1 else self._absolute(end)

    def holds(self, span: Span) -> bool:
        """Returns whether a span of the file is inside the block."""
        return self.start <= span.start and span.end <= self.end

    def _absolute(self, offset: int) -> int:
        if len(self.pieces) == 1:
            return self.start + offset
        base, distance = self.pieces[bisect_right(self.pieces, offset, key=_piece_offset) - 1]
        return self.start + distance + offset - base


def moved(block: Block, by: int) -> Block:
    """Returns a block moved by a number of bytes."""
    return tuple.__new__(Block, (*block[:3], block[3] + by))


def _piece_offset(piece: tuple[int, int]) -> int:
    return piece[0]


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences findings: `# meshlens: ignore[…]` or `# noqa: …`.

    Attributes:
        span: the comment in the file.
        codes: the names or codes of the silenced rules; empty for all rules.
        whole_file: whether it is `# meshlens: ignore-file[…]`.
        lines: first and last line (from 0) of the logical line that it applies to.
    """

    span: Span
    codes: tuple[str, ...]
    whole_file: bool
    lines: tuple[int, int]


class DevicesSaid(NamedTuple):
    """The devices that a file sets itself.

    Attributes:
        text: a topology; empty if the file sets an unknown number.
        how: "comment" for `# meshlens: devices=…`, "code" for virtual devices that it requests.
    """

    text: str
    how: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts of a file.

    Attributes:
        top: keys of the top-level statements in order.
        blocks: every block by its key.
        suppressions: ignore comments in order.
        devices: the target devices that it sets; None if it sets none.
        broken: spans that the grammar could not read.
        state: identifies these facts.
        since: the state before the last edit, and the only blocks that the edit may have changed.
        spot: the last edited statement.
        failure: the internal error that prevented reading the file, if any; the facts are then empty.
    """

    top: tuple[str, ...]
    blocks: dict[str, Block]
    suppressions: tuple[Suppression, ...] = ()
    devices: DevicesSaid | None = None
    broken: tuple[Span, ...] = ()
    shapes: dict[str, Shape] = field(default_factory=dict, compare=False)
    state: object = field(default_factory=object, compare=False, repr=False)
    since: tuple[object, frozenset[str]] | None = field(default=None, compare=False, repr=False)
    spot: Spot | None = field(default=None, compare=False, repr=False)
    failure: str = ""

    @property
    def statements(self) -> Statements:
        """Returns the top-level statements, in order."""
        # The shape of a function may have to be decoded; its header need not.
        blocks = [self.blocks[key] for key in self.top]
        shapes = (block.shape for block in blocks if not isinstance(block.header, FunctionShape))
        return tuple([shape for shape in shapes if not isinstance(shape, FunctionShape)])

    def touched_since(self, before: FileFacts) -> Iterable[str]:
        """Returns the keys of all blocks that may have changed, including added and removed ones."""
        if self.since is not None and self.since[0] is before.state:
            return self.since[1]
        return before.blocks.keys() | self.blocks.keys()

    def span(self, key: str, site: int) -> Span:
        """Returns the span of a block's site in the file, in bytes."""
        return self.blocks[key].span(site)
