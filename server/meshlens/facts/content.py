"""What the text of a block says.

Of a block that comes from the disk or from another process the body of a function and the spans may stay bytes until
somebody asks for them.
"""

from __future__ import annotations

import marshal
from array import array
from typing import Any, TypeAlias

from meshlens.facts.mentioned import names_of
from meshlens.facts.walking import is_function

Shape: TypeAlias = tuple[Any, ...]

_BODY = 4


class Content:
    """The shape of a block, its spans, and the names that it mentions, whatever file the block stands in."""

    __slots__ = ("_ahead", "_body", "_header", "_names", "_shape", "_spans", "_table")

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
        self._body = b""
        self._spans: array[int] | None = spans
        self._table: tuple[str, bytes] = ("", b"")
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
        """The whole shape, from its bytes if need be."""
        shape = self._shape
        if shape is None:
            shape = self._shape = with_body(self._header, marshal.loads(self._body))
            self._body = b""
        return shape

    @property
    def spans(self) -> array[int]:
        """Start and end of each site, as offsets into the block's own text."""
        spans = self._spans
        if spans is None:
            spans = self._spans = array(*self._table)
            self._table = ("", b"")
        if self._ahead:
            spans = self._spans = array("i", [offset - self._ahead for offset in spans])
            self._ahead = 0
        return spans

    @property
    def names(self) -> tuple[str, ...]:
        """What the shape mentions, in order, so that the marks among it come first."""
        names = self._names
        if names is None:
            names = self._names = tuple(sorted(names_of(self.shape)))
        return names

    def with_spans(self, spans: array[int]) -> Content:
        """The same of a text in which some of it lies elsewhere."""
        return Content(self.shape, spans, self._names)

    def packed(self) -> tuple[Any, ...]:
        """All of it, of parts that `marshal` knows.

        Raises:
            ValueError: the shape is nested too deeply.
        """
        spans = self._spans
        table = (spans.typecode, spans.tobytes()) if spans is not None else self._table
        rest = *table, self._ahead, self.names
        if self._shape is None:
            return self._header, self._body, *rest
        function = function_in(self._shape)
        if function is None:
            return self._shape, b"", *rest
        return with_body(self._shape, ()), marshal.dumps(function[_BODY]), *rest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return self is other or (self.shape == other.shape and self.spans == other.spans)

    __hash__ = None  # type: ignore[assignment]


def unpacked(parts: tuple[Any, ...]) -> Content:
    """The content that `Content.packed` gave."""
    header, body, typecode, table, ahead, names = parts
    content = Content(header, _NO_SPANS, names, ahead)
    content._spans, content._table = None, (typecode, table)
    if body:
        content._shape, content._body = None, body
    return content


def function_in(shape: Shape) -> Shape | None:
    """The function tuple of a block that is a function."""
    function = shape[2] if len(shape) == 3 and shape[0] == "fn" else shape
    return function if isinstance(function, tuple) and is_function(function) else None


def with_body(shape: Shape, body: Shape) -> Shape:
    """The shape of a function with another body."""
    if len(shape) == 3:
        return (shape[0], shape[1], with_body(shape[2], body))
    return (*shape[:_BODY], body, *shape[_BODY + 1 :])


_NO_SPANS = array("i")
