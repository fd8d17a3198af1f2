"""The content of a block's text.

Of a block that comes from the disk or from another process the body of a function and the spans are read when somebody
asks for them.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable
from typing import Any, TypeAlias

from meshlens.facts.mentioned import names_of
from meshlens.facts.nodes import FunctionDef, FunctionShape, Statements

Shape: TypeAlias = Any

_log = logging.getLogger("meshlens")


class Content:
    """The shape of a block, its spans, and the names that it mentions, whatever file the block stands in."""

    __slots__ = ("_ahead", "_header", "_later", "_names", "_shape", "_spans", "_table")

    def __init__(self, shape: Shape, spans: array[int], names: tuple[str, ...] | None = None, ahead: int = 0) -> None:
        """The content of a block that was just read.

        Args:
            shape: as the facts' model has it.
            spans: start and end of each site.
            names: what the shape mentions; worked out when it is first asked for if it is not given.
            ahead: how far behind their place the spans lie; taken off them when they are first asked for.
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
        """The shape, in which the body of a function may be missing; always the same."""
        return self._header

    @property
    def shape(self) -> Shape:
        """The whole shape."""
        return self._shape or self.decode()

    def decode(self) -> Shape:
        """The whole shape, from its bytes if need be.

        Raises:
            ValueError: the bytes are something else.
        """
        shape = self._shape
        if shape is None:
            assert self._later is not None
            shape = self._shape = with_body(self._header, self._later())
            self._later = None
        return shape

    @property
    def spans(self) -> array[int]:
        """Start and end of each site, as offsets into the block's own text."""
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
        """The names that the shape mentions, in order, so that the marks among them come first."""
        names = self._names
        if names is None:
            names = self._names = tuple(sorted(names_of(self.shape)))
        return names

    def with_spans(self, spans: array[int]) -> Content:
        """The same of a text in which some of it lies elsewhere."""
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
    """The content of a block of which some is read when it is asked for.

    Args:
        header: the shape, without the body of a function.
        body: reads that body; None where there is none, and the header is all.
        spans: reads the spans.
        names: what the shape mentions.
    """
    content = Content(header, _NO_SPANS, names)
    content._spans, content._table = None, spans
    if body is not None:
        content._shape, content._later = None, body
    return content


def function_in(shape: Shape) -> FunctionShape | None:
    """The function of a block that is a function."""
    if isinstance(shape, FunctionDef):
        return shape.function
    return shape if isinstance(shape, FunctionShape) else None


def with_body(shape: Shape, body: Statements) -> Shape:
    """The shape of a function with another body."""
    if isinstance(shape, FunctionDef):
        return shape._replace(function=shape.function._replace(body=body))
    assert isinstance(shape, FunctionShape)
    return shape._replace(body=body)


_NO_SPANS = array("i")
