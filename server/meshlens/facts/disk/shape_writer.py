"""Writes shapes as numbers, in the grammar that `shape_reader.py` reads."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from meshlens.facts.disk.grammar import (
    CONSTANTS,
    EXPRESSIONS,
    FLAGS,
    FUNCTION,
    FUNCTION_STATEMENT,
    HOWS,
    STATEMENT,
    STATEMENTS,
    WIDTHS,
    NotFacts,
)
from meshlens.facts.nodes import CLASSES, Attribute, Call, Constant, Name, Pair


def _packed(numbers: Sequence[int]) -> tuple[int, bytes]:
    """Returns the width that the greatest number needs, and all numbers as bytes at that width."""
    most = max(numbers, default=0)
    for width, (code, bound) in enumerate(WIDTHS):
        if most < bound:
            return width, array(code, numbers).tobytes()
    raise NotFacts("a number that is too large")


class Writer:
    """The state of writing one file's shapes.

    Attributes:
        words: the strings so far, with their numbers.
        constants: the constants so far by kind and value, in the order of their numbers.
        out: the numbers of the current item.
    """

    __slots__ = ("_numbers", "constants", "out", "words")

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.constants: dict[tuple[str, Any], Any] = {("ellipsis", "Ellipsis"): ...}
        self._numbers: dict[tuple[str, Any], int] = {("ellipsis", "Ellipsis"): 0}
        self.out: list[int] = []

    def piece(self, what: Callable[[Writer, Any], None], shape: Any) -> tuple[int, bytes]:
        """Returns one item: the width of its numbers, and the numbers.

        Raises:
            NotFacts: the grammar has no such shape.
        """
        self.out = []
        try:
            what(self, shape)
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            raise NotFacts(str(error)) from None
        return _packed(self.out)


def _text(writer: Writer, value: Any) -> None:
    if type(value) is not str:
        raise NotFacts("not a string")
    writer.out.append(writer.words.setdefault(value, len(writer.words)))


def _maybe_text(writer: Writer, value: Any) -> None:
    writer.out.append(value is not None)
    if value is not None:
        _text(writer, value)


def _number(writer: Writer, value: Any) -> None:
    writer.out.append(value)


def _block(writer: Writer, value: Any) -> None:
    _text(writer, value)


def _constant(writer: Writer, value: Any) -> None:
    kind = type(value)
    key = (kind.__name__, value if kind is str else repr(value))
    number = writer._numbers.get(key)
    if number is None:
        if kind not in CONSTANTS and value is not ...:
            raise NotFacts("not a constant")
        writer.constants[key] = value
        number = writer._numbers[key] = len(writer._numbers)
    writer.out.append(number)


def _expression(writer: Writer, node: Any) -> None:
    kind = type(node)
    out = writer.out
    if kind is Name:
        out += (0, node.site, writer.words.setdefault(node.name, len(writer.words)))
    elif kind is Attribute:
        out += (2, node.site)
        _expression(writer, node.object)
        out.append(writer.words.setdefault(node.name, len(writer.words)))
    elif kind is Call:
        out += (3, node.site)
        _expression(writer, node.callee)
        _arguments(writer, node.arguments)
    elif kind is Constant:
        out += (1, node.site)
        _constant(writer, node.value)
    else:
        _node(writer, node, _WRITE_EXPRESSION[kind])


def _statement(writer: Writer, node: Any) -> None:
    _node(writer, node, _WRITE_STATEMENT[type(node)])


def _node(writer: Writer, node: Any, row: tuple[int, tuple[_Write, ...]]) -> None:
    code, fields = row
    writer.out += (code, node.site)
    for field, value in zip(fields, islice(node, 2, None), strict=True):
        field(writer, value)


def _maybe(writer: Writer, value: Any) -> None:
    writer.out.append(value is not None)
    if value is not None:
        _expression(writer, value)


def _expressions(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for value in values:
        _expression(writer, value)


def statements(writer: Writer, values: Any) -> None:
    """Writes the statements of a body."""
    writer.out.append(len(values))
    for value in values:
        _statement(writer, value)


def texts(writer: Writer, values: Any) -> None:
    """Writes a sequence of strings."""
    writer.out.append(len(values))
    for value in values:
        _text(writer, value)


def _names(writer: Writer, values: Any) -> None:
    texts(writer, sorted(values))


def _element(writer: Writer, value: Any) -> None:
    is_pair = isinstance(value, Pair)
    writer.out.append(is_pair)
    if not is_pair:
        _expression(writer, value)
        return
    _expression(writer, value.key)
    _expression(writer, value.value)


def _arguments(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for argument in values:
        label = argument.label
        writer.out.append(label is not None)
        if label is not None:
            _text(writer, label)
        writer.out.append(argument.site)
        _expression(writer, argument.value)


def _pairs(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for key, value in values:
        _maybe(writer, key)
        _expression(writer, value)


def _clauses(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for target, iterable, conditions in values:
        _expression(writer, target)
        _expression(writer, iterable)
        _expressions(writer, conditions)


def _parameters(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for parameter in values:
        _text(writer, parameter.name)
        writer.out.append(parameter.site)
        writer.out.append(HOWS.index(parameter.how))
        _maybe(writer, parameter.default)
        _maybe(writer, parameter.annotation)


def _function(writer: Writer, value: Any) -> None:
    _text(writer, value.name)
    writer.out.append(value.site)
    _parameters(writer, value.parameters)
    _expressions(writer, value.decorators)
    statements(writer, value.body)
    writer.out.append(FLAGS.index(value.flags))


def _items(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for expression, target in values:
        _expression(writer, expression)
        _maybe(writer, target)


def _handlers(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for kind, text, body in values:
        _maybe(writer, kind)
        _maybe_text(writer, text)
        statements(writer, body)


def _imports(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for name, alias, site in values:
        _text(writer, name)
        _maybe_text(writer, alias)
        writer.out.append(site)


def _arms(writer: Writer, values: Any) -> None:
    writer.out.append(len(values))
    for pattern, guard, body in values:
        _expression(writer, pattern)
        _maybe(writer, guard)
        statements(writer, body)


_Write: TypeAlias = Callable[[Writer, Any], None]

_WRITE: Mapping[str, _Write] = {
    "site": _number,
    "text": _text,
    "maybe_text": _maybe_text,
    "number": _number,
    "block": _block,
    "constant": _constant,
    "expression": _expression,
    "maybe": _maybe,
    "expressions": _expressions,
    "statements": statements,
    "texts": texts,
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


def _rows(grammar: Mapping[str, str]) -> Mapping[type, tuple[int, tuple[_Write, ...]]]:
    """Returns the code of each class, and the writers of its fields except the site, which always comes first."""
    return {
        CLASSES[tag]: (code, tuple(_WRITE[field] for field in fields.split()[1:]))
        for code, (tag, fields) in enumerate(grammar.items())
    }


_WRITE_EXPRESSION = _rows(EXPRESSIONS)
_WRITE_STATEMENT = _rows(STATEMENTS)
WRITE_KIND: Mapping[int, _Write] = {STATEMENT: _statement, FUNCTION: _function, FUNCTION_STATEMENT: _statement}
"""The function that writes a block, for each kind of block."""
