"""The facts of one file: blocks of small trees without positions, and the tables that give positions back.

A block is the unit of extraction and of memoisation: a top-level statement, or a `def` that stands
directly in a class body or in the body of a top-level function.  Its *shape* is a tree of plain tuples in which every
node carries a site number instead of a position, so that two blocks that differ only in layout or
comments have equal shapes.  Nothing here knows JAX, a path, or tree-sitter.

Expressions, `(tag, site, …)`:

    ("name", s, text)                      ("const", s, value)      str, int, float, bool, None, ...
    ("fstr", s, parts)                     parts: expressions; literal text is a const
    ("attr", s, object, text)              the attribute's own text ends where the node ends
    ("call", s, callee, arguments)         arguments: (label, site, expression); label is None,
                                           a keyword, "*" or "**"; site spans the whole argument
    ("tuple"|"list"|"set", s, items)       ("star", s, expression) may be an item
    ("dict", s, pairs)                     pairs: (key, value); key is None for `**value`
    ("lambda", s, parameters, expression)
    ("ifexp", s, test, then, otherwise)
    ("bool", s, "and"|"or", items)         ("not", s, item)         ("unary", s, operator, item)
    ("bin", s, operator, left, right)      ("cmp", s, operators, items)
    ("sub", s, object, index)              ("slice", s, lower, upper, step), each may be None
    ("comp", s, kind, element, clauses)    kind: list, set, dict, gen; element of a dict: a 2-tuple of expressions;
                                           clauses: (target, iterable, conditions)
    ("walrus", s, text, expression)        ("yield", s, expression or None)
    ("opaque", s, children)                anything else, broken syntax included
    ("hole", s, names, unsettled)          what cannot be read: the set of names in it, and those that may be set there;
                                           "return" among them if it may return

Statements, `(tag, site, …)`:

    ("expr", s, expression)                ("assign", s, targets, value)
    ("ann", s, target, annotation, value)  value may be None
    ("aug", s, target, operator, value)    operator without the "="
    ("def", s, key)                        a function that is a block of its own
    ("fn", s, function)                    a function inside this block
    ("class", s, text, name site, bases, decorators, body)    bases: call arguments
    ("return", s, expression or None)      ("raise", s, expression or None)
    ("if", s, test, body, orelse)          ("while", s, test, body, orelse)
    ("for", s, target, iterable, body, orelse)
    ("with", s, items, body)               items: (expression, target or None)
    ("try", s, body, handlers, orelse, final)   handlers: (type or None, text or None, body)
    ("import", s, names)                   names: (module, alias or None, site)
    ("from", s, level, module, names)      names: (text, alias or None, site); text "*" for a star import
    ("global", s, names)  ("nonlocal", s, names)  ("del", s, targets)  ("assert", s, test, message)
    ("match", s, subject, arms)            arms: (pattern, guard or None, body); pattern an expression or opaque
    ("break", s)  ("continue", s)  ("pass", s)

A function is `(text, name site, parameters, decorators, body, flags)`; flags is a frozenset of
"async", "generator"; parameters are `(text, site, how, default or None, annotation or None)` with
how one of "only" (before `/`), "any", "*", "key", "**".  `await e` is `e`; parentheses leave no node.
The site of a parameter is its name without stars, that of an imported name is the name without its alias.
Adjacent string literals are one const; byte strings and complex numbers are opaque without children.
A statement that is not understood is an opaque expression as a statement.  Of a pattern with an alternative, a class or
a list, the children are what it captures and compares with.  No shape is nested deeper than some 150 nodes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from meshlens.facts.content import Content, Shape
from meshlens.text import Span

if TYPE_CHECKING:
    from meshlens.facts.paths import Spot

__all__ = ["Block", "DevicesSaid", "FileFacts", "Shape", "Suppression", "moved"]


class Block(NamedTuple):
    """One block of a file.

    Attributes:
        key: names the block within its file, stable while other blocks change: the qualified name for
            a function or class (`train`, `Trainer.step`, `main.loss`), `=hash` for another statement; a
            repeated key gets `~2`, `~3`, …
        content: what its text says.
        pieces: (offset in the block's text, distance to the block's start) where a run of text begins; in the text
            a marker stands for each nested function that is a block of its own, and a piece begins behind it.
        start: where the block begins in the file; all that changes when text is inserted before it.
    """

    key: str
    content: Content
    pieces: tuple[tuple[int, int], ...]
    start: int

    @property
    def shape(self) -> Shape:
        """For a top-level statement the statement, for a function that is a block of its own its function tuple."""
        return self.content.shape

    @property
    def header(self) -> Shape:
        """The shape, in which the body of a function may be missing."""
        return self.content.header

    @property
    def spans(self) -> array[int]:
        """Start and end of site 0, 1, 2, … as offsets into the block's own text; site 0 is the whole block."""
        return self.content.spans

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the block mentions, as `mentioned.py` has it, in order."""
        return self.content.names

    def span(self, site: int) -> Span:
        """Returns where a site lies in the file, in bytes."""
        spans = self.content.spans
        return Span(self._absolute(spans[2 * site]), self._absolute(spans[2 * site + 1]))

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        end = self.spans[1]
        return self.start + end if len(self.pieces) == 1 else self._absolute(end)

    def holds(self, span: Span) -> bool:
        """Returns whether a stretch of the file lies in it."""
        return self.start <= span.start and span.end <= self.end

    def _absolute(self, offset: int) -> int:
        if len(self.pieces) == 1:
            return self.start + offset
        base, distance = self.pieces[bisect_right(self.pieces, offset, key=_piece_offset) - 1]
        return self.start + distance + offset - base


def moved(block: Block, by: int) -> Block:
    """A block that begins somewhere else."""
    return tuple.__new__(Block, (*block[:3], block[3] + by))


def _piece_offset(piece: tuple[int, int]) -> int:
    return piece[0]


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences findings: `# meshlens: ignore[…]` or `# noqa: …`.

    Attributes:
        span: the comment in the file.
        codes: names or codes in brackets; empty for all.
        whole_file: true for `# meshlens: ignore-file[…]`.
        lines: first and last line (from 0) of the logical line that it speaks for.
    """

    span: Span
    codes: tuple[str, ...]
    whole_file: bool
    lines: tuple[int, int]


class DevicesSaid(NamedTuple):
    """The devices that a file itself says it is meant for.

    Attributes:
        text: a topology; empty where the file sets a number that cannot be told.
        how: "comment" for `# meshlens: devices=…`, "code" for virtual devices that it asks for.
    """

    text: str
    how: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All that one file says.

    Attributes:
        top: keys of the top-level statements in order.
        blocks: every block by its key.
        suppressions: ignore comments in order.
        devices: what it says of the devices that it is meant for; None if it does not.
        broken: spans that the grammar could not read.
        state: stands for these facts.
        since: the state before the last edit, and the only blocks that it may have changed.
        spot: the statement that was typed in last.
        failure: why it could not be read, if a fault of ours kept it from being read; it then says nothing.
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

    def touched_since(self, before: FileFacts) -> Iterable[str]:
        """The keys of all blocks that may differ from what they were, come or gone ones included."""
        if self.since is not None and self.since[0] is before.state:
            return self.since[1]
        return before.blocks.keys() | self.blocks.keys()

    def span(self, key: str, site: int) -> Span:
        """Returns where a site of a block lies in the file, in bytes."""
        return self.blocks[key].span(site)
