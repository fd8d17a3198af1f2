"""Assembles shapes from numbers, node by node, as the grammar requires.

The result conforms to `nodes.py`, whatever the numbers are.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from meshlens.facts.disk.grammar import (
    DEEPEST,
    EXPRESSIONS,
    FLAGS,
    FUNCTION,
    FUNCTION_STATEMENT,
    HOWS,
    STATEMENT,
    STATEMENTS,
    NotFacts,
)
from meshlens.facts.nodes import (
    CLASSES,
    Argument,
    Arm,
    Attribute,
    Call,
    Clause,
    Constant,
    Expression,
    Expressions,
    FunctionShape,
    Handler,
    Imported,
    Name,
    Pair,
    Parameter,
    Statement,
    Statements,
    WithItem,
)

# Twice as fast as the constructors of named tuples.
_new = tuple.__new__
_NO_SITE = "a site that the block does not have"


class Reader:
    """The state of reading one file's shapes.

    Attributes:
        take: returns the next number.
        words, constants: the strings and the constants of the file.
        blocks: separate function blocks that no `def` has referred to yet, and their rows.
        row: the row of the current block.
        sites: the number of sites in the current block.
        room: the remaining nesting depth.
    """

    __slots__ = ("blocks", "constants", "room", "row", "sites", "take", "words")

    def __init__(self, words: Sequence[str], constants: Sequence[Any], blocks: dict[str, int]) -> None:
        self.words = words
        self.constants = constants
        self.blocks = blocks
        self.row = 0
        self.sites = 0
        self.room = DEEPEST
        self.take: Callable[[], int] = iter(array("B")).__next__

    def piece(self, what: Callable[[Reader], Any], numbers: Iterable[int], row: int, sites: int) -> Any:
        """Reads and returns one item, which must use up all the numbers.

        Raises:
            NotFacts: the numbers are invalid.
        """
        rest = iter(numbers)
        self.take, self.row, self.sites, self.room = rest.__next__, row, sites, DEEPEST
        try:
            made = what(self)
        except (StopIteration, IndexError, RuntimeError) as error:
            raise NotFacts(str(error)) from None
        if next(rest, None) is not None:
            raise NotFacts("more than one piece")
        return made


def _site(reader: Reader) -> int:
    site = reader.take()
    if site >= reader.sites:
        raise NotFacts(_NO_SITE)
    return site


def _text(reader: Reader) -> str:
    return reader.words[reader.take()]


def _maybe_text(reader: Reader) -> str | None:
    return reader.words[reader.take()] if reader.take() else None


def _number(reader: Reader) -> int:
    return reader.take()


def _block(reader: Reader) -> str:
    key = reader.words[reader.take()]
    # The rows of a block's functions come before its own, so no block can contain itself, directly or indirectly.
    if reader.blocks.pop(key, reader.row) >= reader.row:
        raise NotFacts("a function that does not belong to the block")
    return key


def _constant(reader: Reader) -> Any:
    return reader.constants[reader.take()]


def _expression(reader: Reader) -> Expression:
    take = reader.take
    code = take()
    # Nine in ten expressions have one of these codes; a call to `_site` for each would take as long as everything else.
    if code == 0 or code == 1:
        site = take()
        if site >= reader.sites:
            raise NotFacts(_NO_SITE)
        if code == 0:
            return _new(Name, ("name", site, reader.words[take()]))
        return _new(Constant, ("const", site, reader.constants[take()]))
    reader.room -= 1
    if reader.room < 0:
        raise NotFacts("a shape that is nested too deeply")
    made: Expression
    if code == 2 or code == 3:
        site = take()
        if site >= reader.sites:
            raise NotFacts(_NO_SITE)
        inner = _expression(reader)
        if code == 2:
            made = _new(Attribute, ("attr", site, inner, reader.words[take()]))
        else:
            made = _new(Call, ("call", site, inner, _arguments(reader)))
    else:
        kind, tag, fields = _READ_EXPRESSION[code]
        made = _new(kind, (tag, *[field(reader) for field in fields]))
    reader.room += 1
    return made


def _statement(reader: Reader) -> Statement:
    reader.room -= 1
    if reader.room < 0:
        raise NotFacts("a shape that is nested too deeply")
    kind, tag, fields = _READ_STATEMENT[reader.take()]
    made: Statement = _new(kind, (tag, *[field(reader) for field in fields]))
    reader.room += 1
    return made


def _maybe(reader: Reader) -> Expression | None:
    return _expression(reader) if reader.take() else None


def _expressions(reader: Reader) -> Expressions:
    return tuple([_expression(reader) for _ in range(reader.take())])


def statements(reader: Reader) -> Statements:
    """Returns the statements of a body."""
    return tuple([_statement(reader) for _ in range(reader.take())])


def texts(reader: Reader) -> tuple[str, ...]:
    """Returns a sequence of strings."""
    return tuple([reader.words[reader.take()] for _ in range(reader.take())])


def _names(reader: Reader) -> frozenset[str]:
    return frozenset(texts(reader))


def _arguments(reader: Reader) -> tuple[Argument, ...]:
    take, words, sites = reader.take, reader.words, reader.sites
    found = []
    for _ in range(take()):
        label = words[take()] if take() else None
        site = take()
        if site >= sites:
            raise NotFacts(_NO_SITE)
        found.append(_new(Argument, (label, site, _expression(reader))))
    return tuple(found)


def _pairs(reader: Reader) -> tuple[Pair, ...]:
    return tuple([Pair(_maybe(reader), _expression(reader)) for _ in range(reader.take())])


def _element(reader: Reader) -> Expression | Pair:
    return Pair(_expression(reader), _expression(reader)) if reader.take() else _expression(reader)


def _clauses(reader: Reader) -> tuple[Clause, ...]:
    return tuple([Clause(_expression(reader), _expression(reader), _expressions(reader)) for _ in range(reader.take())])


def _parameters(reader: Reader) -> tuple[Parameter, ...]:
    return tuple(
        [
            Parameter(_text(reader), _site(reader), HOWS[reader.take()], _maybe(reader), _maybe(reader))
            for _ in range(reader.take())
        ]
    )


def _function(reader: Reader) -> FunctionShape:
    reader.room -= 1
    if reader.room < 0:
        raise NotFacts("a shape that is nested too deeply")
    made = FunctionShape(
        _text(reader),
        _site(reader),
        _parameters(reader),
        _expressions(reader),
        statements(reader),
        _flags(reader),
    )
    reader.room += 1
    return made


def _flags(reader: Reader) -> frozenset[str]:
    return FLAGS[reader.take()]


def _items(reader: Reader) -> tuple[WithItem, ...]:
    return tuple([WithItem(_expression(reader), _maybe(reader)) for _ in range(reader.take())])


def _handlers(reader: Reader) -> tuple[Handler, ...]:
    return tuple([Handler(_maybe(reader), _maybe_text(reader), statements(reader)) for _ in range(reader.take())])


def _imports(reader: Reader) -> tuple[Imported, ...]:
    return tuple([Imported(_text(reader), _maybe_text(reader), _site(reader)) for _ in range(reader.take())])


def _arms(reader: Reader) -> tuple[Arm, ...]:
    return tuple([Arm(_expression(reader), _maybe(reader), statements(reader)) for _ in range(reader.take())])


_Read: TypeAlias = Callable[[Reader], Any]

_READ: Mapping[str, _Read] = {
    "site": _site,
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


def _rows(grammar: Mapping[str, str]) -> tuple[tuple[Any, str, tuple[_Read, ...]], ...]:
    return tuple(
        [(CLASSES[tag], tag, tuple([_READ[field] for field in fields.split()])) for tag, fields in grammar.items()]
    )


_READ_EXPRESSION = _rows(EXPRESSIONS)
_READ_STATEMENT = _rows(STATEMENTS)
READ_KIND: Mapping[int, _Read] = {STATEMENT: _statement, FUNCTION: _function, FUNCTION_STATEMENT: _statement}
"""The function that reads a block, for each kind of block."""
