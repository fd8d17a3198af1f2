"""Ways through the shape of a function: to a statement, and back to a shape with another one there."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeAlias

from meshlens.facts.model import Block, Shape

Path: TypeAlias = tuple[int, ...]

SIMPLE = frozenset({"expr", "assign", "ann", "aug"})
"""The statements that neither decide what runs next nor name something that others see."""

_BODY = 4
_SUITES: dict[str, tuple[int, ...]] = {
    "if": (3, 4),
    "while": (3, 4),
    "for": (4, 5),
    "with": (3,),
    "try": (2, 4, 5),
}


def statement_at(shape: Shape, path: Path) -> Shape:
    """The statement to which a path leads."""
    for index in path:
        shape = shape[index]
    return shape


def with_statement(shape: Shape, path: Path, statement: Shape) -> Shape:
    """A shape with another statement at the end of a path."""
    if not path:
        return statement
    index = path[0]
    return (*shape[:index], with_statement(shape[index], path[1:], statement), *shape[index + 1 :])


def path_to(block: Block, offset: int) -> Path | None:
    """The way to the last simple statement that begins before an offset; None if there is none, or it is in a class."""
    shape = block.shape
    if shape[0] == "fn" and len(shape) == 3:
        path: Path = (2, _BODY)
    elif len(shape) == 6 and type(shape[5]) is frozenset:
        path = (_BODY,)
    else:
        return None

    def start_of(statement: Any) -> int:
        return block.span(statement[1]).start

    while True:
        suite = statement_at(shape, path)
        number = bisect_right(suite, offset, key=start_of) - 1
        if number < 0:
            return None
        path = (*path, number)
        statement = suite[number]
        if statement[0] in SIMPLE:
            return path
        inner = [one for one in _suites(statement) if start_of(statement_at(statement, one)[0]) <= offset]
        if not inner:
            return None
        path = (*path, *inner[-1])


def _suites(statement: Shape) -> list[Path]:
    """The suites in a compound statement that have statements, in order."""
    tag = statement[0]
    if tag == "fn":
        found: list[Path] = [(2, _BODY)]
    elif tag == "match":
        found = [(3, number, 2) for number in range(len(statement[3]))]
    else:
        found = [(index,) for index in _SUITES.get(tag, ())]
        if tag == "try":
            found[1:1] = [(3, number, 2) for number in range(len(statement[3]))]
    return [one for one in found if statement_at(statement, one)]
