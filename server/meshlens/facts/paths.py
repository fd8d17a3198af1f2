"""Paths to statements in the shape of a function; finds and replaces the statement at a path."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, TypeAlias

from meshlens.facts.model import Block, Shape
from meshlens.facts.nodes import (
    AnnAssign,
    Arm,
    Assign,
    AugAssign,
    ClassDef,
    ExpressionStatement,
    FunctionDef,
    FunctionShape,
    Handler,
    Match,
    Statement,
    Statements,
    Try,
    Yield,
)

Path: TypeAlias = tuple[int, ...]

SIMPLE = (ExpressionStatement, Assign, AnnAssign, AugAssign)
"""The statements that only evaluate an expression and may assign its value."""

_FUNCTION = FunctionDef._fields.index("function")
_BODY = FunctionShape._fields.index("body")
_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Spot:
    """A statement that was read separately from the rest of its function.

    Attributes:
        key: the function's block.
        path: the path from the block's shape to the statement, index by index.
        first: its first site; this and all later sites belong only to the statement.
        offset: its offset in the block's own text, after everything else; None if it is in its original place.
        place: identifies the code around it; unchanged by edits inside the statement.
        is_apart: whether it has been unreadable without affecting anything around it.
    """

    key: str
    path: Path
    first: int
    offset: int | None
    place: object
    is_apart: bool = False


def statement_at(shape: Shape, path: Path) -> Any:
    """Returns the statement or suite at a path."""
    found: Any = shape
    for index in path:
        found = found[index]
    return found


def with_statement(shape: Any, path: Path, statement: Any) -> Any:
    """Returns a shape in which a statement replaces the one at the end of a path."""
    if not path:
        return statement
    index = path[0]
    parts = (*shape[:index], with_statement(shape[index], path[1:], statement), *shape[index + 1 :])
    return tuple.__new__(type(shape), parts)


def path_to(block: Block, offset: int) -> Path | None:
    """Returns the path to the last simple statement before an offset; None if there is none, or it is in a class."""
    shape = block.shape
    if isinstance(shape, FunctionDef):
        path: Path = (_FUNCTION, _BODY)
    elif isinstance(shape, FunctionShape):
        path = (_BODY,)
    else:
        return None

    def start_of(statement: Statement) -> int:
        return block.span(statement.site).start

    while True:
        suite: Statements = statement_at(shape, path)
        number = bisect_right(suite, offset, key=start_of) - 1
        if number < 0:
            return None
        path = (*path, number)
        statement = suite[number]
        if isinstance(statement, SIMPLE):
            return path
        inner = [one for one in _suites(statement) if start_of(statement_at(statement, one)[0]) <= offset]
        if not inner:
            return None
        path = (*path, *inner[-1])


def is_plain(node: Any, depth: int) -> bool:
    """Returns whether an expression or statement has limited depth and does not make its function a generator."""
    if not isinstance(node, tuple):
        return True
    if depth > _DEEPEST or isinstance(node, Yield):
        return False
    return all(is_plain(part, depth + 1) for part in node if isinstance(part, tuple))


def _suites(statement: Statement) -> list[Path]:
    """Returns the paths to the nonempty suites of a compound statement, in order."""
    if isinstance(statement, FunctionDef):
        found: list[Path] = [(_FUNCTION, _BODY)]
    elif isinstance(statement, Match):
        place = Match._fields.index("arms")
        found = [(place, number, Arm._fields.index("body")) for number in range(len(statement.arms))]
    elif isinstance(statement, ClassDef):
        return []
    else:
        fields = statement._fields
        found = [(fields.index(field),) for field in ("body", "orelse", "final") if field in fields]
        if isinstance(statement, Try):
            place = fields.index("handlers")
            inner = [(place, number, Handler._fields.index("body")) for number in range(len(statement.handlers))]
            found[1:1] = inner
    return [one for one in found if statement_at(statement, one)]
