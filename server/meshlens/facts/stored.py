"""Writes facts as bytes for the disk, by the grammar of shapes; `restored.py` reads them.

A file's bytes are a JSON list of its words, its constants and what it says as a whole; a table with a row for each
block; and the blocks' shapes, names and spans as numbers.  The body of a function stands apart from its head, so that
it can be read when it is asked for.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from meshlens.facts.content import function_in, with_body
from meshlens.facts.grammar import (
    BODY,
    CONSTANTS,
    EXPRESSIONS,
    FLAGS,
    FUNCTION,
    FUNCTION_STATEMENT,
    HEADER,
    HOWS,
    ROW,
    STATEMENT,
    STATEMENTS,
    WIDTHS,
    NotFacts,
)
from meshlens.facts.model import FileFacts


def stored(facts: FileFacts) -> bytes:
    """Facts as bytes.

    Raises:
        NotFacts: the grammar does not know one of the shapes.
    """
    writer = _Writer()
    rows: list[bytes] = []
    data: list[bytes] = []
    for block in facts.blocks.values():
        function = function_in(block.shape)
        kind, head, body = STATEMENT, block.shape, ()
        if function is not None:
            kind = FUNCTION if function is block.shape else FUNCTION_STATEMENT
            head, body = with_body(block.shape, ()), function[BODY]
        head_width, head_bytes = writer.piece(_WRITE_KIND[kind], head)
        body_width, body_bytes = writer.piece(_statements, body)
        name_width, name_bytes = writer.piece(_texts, block.names)
        spans = array("i", block.spans).tobytes()
        pieces = array("i", [number for piece in block.pieces for number in piece]).tobytes()
        parts = (head_bytes, body_bytes, name_bytes, spans, pieces)
        key = writer.words.setdefault(block.key, len(writer.words))
        rows.append(ROW.pack(key, kind, head_width, body_width, name_width, block.start, *map(len, parts)))
        data += parts
    order = {key: row for row, key in enumerate(facts.blocks)}
    said = (
        list(writer.words),
        list(writer.constants.values())[1:],
        [order[key] for key in facts.top],
        [(tuple(one.span), one.codes, one.whole_file, one.lines) for one in facts.suppressions],
        facts.devices,
        [tuple(span) for span in facts.broken],
    )
    text = json.dumps(said, separators=(",", ":")).encode("ascii")
    return b"".join((HEADER.pack(len(text), len(rows)), text, *rows, *data))


def _packed(numbers: Sequence[int]) -> tuple[int, bytes]:
    """Numbers in as few bytes as the greatest takes."""
    most = max(numbers, default=0)
    for width, (code, bound) in enumerate(WIDTHS):
        if most < bound:
            return width, array(code, numbers).tobytes()
    raise NotFacts("a number that is too large")


class _Writer:
    """What is being written.

    Attributes:
        words: the strings that were met, and their numbers.
        constants: the constants that were met, by kind and value, in the order of their numbers.
        out: the numbers of the piece that is written.
    """

    __slots__ = ("_numbers", "constants", "out", "words")

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.constants: dict[tuple[str, Any], Any] = {("ellipsis", "Ellipsis"): ...}
        self._numbers: dict[tuple[str, Any], int] = {("ellipsis", "Ellipsis"): 0}
        self.out: list[int] = []

    def piece(self, what: Callable[[_Writer, Any], None], shape: Any) -> tuple[int, bytes]:
        """One thing: the width of its numbers, and these.

        Raises:
            NotFacts: the grammar does not know such a shape.
        """
        self.out = []
        try:
            what(self, shape)
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            raise NotFacts(str(error)) from None
        return _packed(self.out)


def _site(writer: _Writer, value: Any) -> None:
    writer.out.append(value)


def _text(writer: _Writer, value: Any) -> None:
    if type(value) is not str:
        raise NotFacts("not a text")
    writer.out.append(writer.words.setdefault(value, len(writer.words)))


def _maybe_text(writer: _Writer, value: Any) -> None:
    writer.out.append(value is not None)
    if value is not None:
        _text(writer, value)


def _number(writer: _Writer, value: Any) -> None:
    writer.out.append(value)


def _block(writer: _Writer, value: Any) -> None:
    _text(writer, value)


def _constant(writer: _Writer, value: Any) -> None:
    kind = type(value)
    key = (kind.__name__, value if kind is str else repr(value))
    if kind not in CONSTANTS and value is not ...:
        raise NotFacts("not a constant")
    writer.constants.setdefault(key, value)
    writer.out.append(writer._numbers.setdefault(key, len(writer._numbers)))


def _expression(writer: _Writer, node: Any) -> None:
    code, fields = _WRITE_EXPRESSION[node[0]]
    writer.out.append(code)
    _fields(writer, node, fields)


def _statement(writer: _Writer, node: Any) -> None:
    code, fields = _WRITE_STATEMENT[node[0]]
    writer.out.append(code)
    _fields(writer, node, fields)


def _fields(writer: _Writer, node: Any, fields: Sequence[Callable[[_Writer, Any], None]]) -> None:
    if len(node) != len(fields) + 1:
        raise NotFacts(f"a node of {len(node)} parts")
    for field, value in zip(fields, node[1:], strict=True):
        field(writer, value)


def _maybe(writer: _Writer, value: Any) -> None:
    writer.out.append(value is not None)
    if value is not None:
        _expression(writer, value)


def _expressions(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for value in values:
        _expression(writer, value)


def _statements(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for value in values:
        _statement(writer, value)


def _texts(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for value in values:
        _text(writer, value)


def _names(writer: _Writer, values: Any) -> None:
    _texts(writer, sorted(values))


def _element(writer: _Writer, value: Any) -> None:
    is_pair = type(value[0]) is tuple
    writer.out.append(is_pair)
    if not is_pair:
        _expression(writer, value)
        return
    key, item = value
    _expression(writer, key)
    _expression(writer, item)


def _arguments(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for label, site, expression in values:
        _maybe_text(writer, label)
        writer.out.append(site)
        _expression(writer, expression)


def _pairs(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for key, value in values:
        _maybe(writer, key)
        _expression(writer, value)


def _clauses(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for target, iterable, conditions in values:
        _expression(writer, target)
        _expression(writer, iterable)
        _expressions(writer, conditions)


def _parameters(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for text, site, how, default, annotation in values:
        _text(writer, text)
        writer.out.append(site)
        writer.out.append(HOWS.index(how))
        _maybe(writer, default)
        _maybe(writer, annotation)


def _function(writer: _Writer, value: Any) -> None:
    text, site, parameters, decorators, body, flags = value
    _text(writer, text)
    writer.out.append(site)
    _parameters(writer, parameters)
    _expressions(writer, decorators)
    _statements(writer, body)
    writer.out.append(FLAGS.index(flags))


def _items(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for expression, target in values:
        _expression(writer, expression)
        _maybe(writer, target)


def _handlers(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for kind, text, body in values:
        _maybe(writer, kind)
        _maybe_text(writer, text)
        _statements(writer, body)


def _imports(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for name, alias, site in values:
        _text(writer, name)
        _maybe_text(writer, alias)
        writer.out.append(site)


def _arms(writer: _Writer, values: Any) -> None:
    writer.out.append(len(values))
    for pattern, guard, body in values:
        _expression(writer, pattern)
        _maybe(writer, guard)
        _statements(writer, body)


_Write: TypeAlias = Callable[[_Writer, Any], None]

_WRITE: Mapping[str, _Write] = {
    "site": _site,
    "text": _text,
    "maybe_text": _maybe_text,
    "number": _number,
    "block": _block,
    "constant": _constant,
    "expression": _expression,
    "maybe": _maybe,
    "expressions": _expressions,
    "statements": _statements,
    "texts": _texts,
    "names": _names,
    "arguments": _arguments,
    "pairs": _pairs,
    "element": _element,
    "clauses": _clauses,
    "parameters": _parameters,
    "function": _function,
    "items": _items,
    "handlers": _handlers,
    "imports": _imports,
    "arms": _arms,
}
_WRITE_EXPRESSION = {
    tag: (code, tuple(_WRITE[field] for field in fields.split()))
    for code, (tag, fields) in enumerate(EXPRESSIONS.items())
}
_WRITE_STATEMENT = {
    tag: (code, tuple(_WRITE[field] for field in fields.split()))
    for code, (tag, fields) in enumerate(STATEMENTS.items())
}
_WRITE_KIND: Mapping[int, _Write] = {STATEMENT: _statement, FUNCTION: _function, FUNCTION_STATEMENT: _statement}
