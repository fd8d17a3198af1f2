"""Ways through the shape of a function: to a statement, and back to a shape with another one there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, TypeAlias

from meshlens.facts.model import Block, Shape
from meshlens.facts.walking import is_function

Path: TypeAlias = tuple[int, ...]

SIMPLE = frozenset({"expr", "assign", "ann", "aug"})
"""The statements that neither decide what runs next nor name something that others see."""

_BODY = 4
_DEEPEST = 60
_SUITES: dict[str, tuple[int, ...]] = {
    "if": (3, 4),
    "while": (3, 4),
    "for": (4, 5),
    "with": (3,),
    "try": (2, 4, 5),
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A statement of a function that was read for itself.

    Attributes:
        key: the function's block.
        path: the way from the block's shape to the statement, index by index.
        first: its first site; it and those behind it are the statement's alone.
        offset: where it begins in the block's own text, behind all else; None if it stands in its place there.
        place: stands for all around it: the same after edits that change nothing but the statement.
        is_apart: whether it was seen to leave a hole when it cannot be read, and nothing around it one.
    """

    key: str
    path: Path
    first: int
    offset: int | None
    place: object
    is_apart: bool = False


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
    elif is_function(shape):
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


def is_plain(node: Any, depth: int) -> bool:
    """Whether an expression is no deeper than handlers go anywhere, and makes no generator of its function."""
    if type(node) is not tuple:
        return True
    if depth > _DEEPEST or (node and node[0] == "yield"):
        return False
    return all(is_plain(part, depth + 1) for part in node if type(part) is tuple)


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
