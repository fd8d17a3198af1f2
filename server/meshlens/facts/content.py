"""The content of a block's text.

For a block from disk or another process, function bodies and spans are read on demand.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable
from typing import TypeAlias

from meshlens.facts.mentioned import names_of
from meshlens.facts.nodes import FunctionDef, FunctionShape, Statement, Statements

Shape: TypeAlias = Statement | FunctionShape

_log = logging.getLogger("meshlens")


class Content:
    """The shape of a block, its spans, and the names that it mentions, independent of its file."""

    __slots__ = ("_ahead", "_header", "_later", "_names", "_shape", "_spans", "_table")

    def __init__(self, shape: Shape, spans: array[int], names: tuple[str, ...] | None = None, ahead: int = 0) -> None:
        """Creates the content of a newly read block.

        Args:
            shape: the block's shape.
            spans: start and end of each site.
            names: the names that the shape mentions; by default computed on first use.
            ahead: the offset to subtract from the spans on first use.
        """
        self._shape: Shape | None = shape
        self._header = shape
        self._later: Callable[[], Statements] | None = None
        self._spans: array[int] | None = spans
        self._table: Callable[[], array[int]] | None = None
        self._names = names
        self._ahead = ahead

    @property
    def header(self) -> Shape:
        """Returns the shape, possibly without the body of a function; always the same object."""
        return self._header

    @property
    def shape(self) -> Shape:
        """Returns the whole shape."""
        return self._shape or self.decode()

    def decode(self) -> Shape:
        """Returns the whole shape, decoding its bytes if necessary.

        Raises:
            ValueError: the bytes are invalid.
        """
        shape = self._shape
        if shape is None:
            assert self._later is not None
            shape = self._shape = with_body(self._header, self._later())
            self._later = None
        return shape

    @property
    def spans(self) -> array[int]:
        """Returns the start and end of each site, as offsets into the block's own text."""
        spans = self._spans
        if spans is None:
            assert self._table is not None
            spans = self._spans = self._table()
            self._table = None
        if self._ahead:
            spans = self._spans = array("i", [offset - self._ahead for offset in spans])
            self._ahead = 0
        return spans

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names that the shape mentions, sorted, so that the marks come first."""
        names = self._names
        if names is None:
            names = self._names = tuple(sorted(names_of(self.shape)))
        return names

    def with_spans(self, spans: array[int]) -> Content:
        """Returns the content with other spans."""
        return Content(self.shape, spans, self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return self is other or (self.shape == other.shape and self.spans == other.spans)

    __hash__ = None  # type: ignore[assignment]


def content_later(
    header: Shape,
    body: Callable[[], Statements] | None,
    spans: Callable[[], array[int]],
    names: tuple[str, ...],
) -> Content:
    """Returns the content of a block, parts of which are read on demand.

    Args:
        header: the shape, without the body of a function.
        body: reads that body; None if there is none and the header is complete.
        spans: reads the spans.
        names: the names that the shape mentions.
    """
    content = Content(header, _NO_SPANS, names)
    content._spans, content._table = None, spans
    if body is not None:
        content._shape, content._later = None, body
    return content


def function_in(shape: Shape) -> FunctionShape | None:
    """Returns the function of a block that is a function; None for any other block."""
    if isinstance(shape, FunctionDef):
        return shape.function
    return shape if isinstance(shape, FunctionShape) else None


def with_body(shape: Shape, body: Statements) -> Shape:
    """Returns the shape of a function with another body."""
    if isinstance(shape, FunctionDef):
        return shape._replace(function=shape.function._replace(body=body))
    assert isinstance(shape, FunctionShape)
    return shape._replace(body=body)


_NO_SPANS = array("i")
