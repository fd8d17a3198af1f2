"""Programs: the code under `if __name__ == "__main__":`, which no import runs."""

from __future__ import annotations

from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    AugAssign,
    ClassDef,
    Comparison,
    Constant,
    For,
    FunctionDef,
    If,
    Import,
    ImportFrom,
    Name,
    Try,
    Walrus,
    With,
)
from meshlens.facts.walking import nodes

PROGRAM = "<program>"
"""The name of the root that runs a file as a program."""


_SET_VARIABLES = (Assign, AnnAssign, AugAssign, For, With, Walrus, Import, ImportFrom, FunctionDef, ClassDef, Try)


def is_program(shape: object) -> bool:
    """Returns whether a top-level statement runs only when its file is the program."""
    if (
        not isinstance(shape, If)
        or shape.orelse
        or not isinstance(shape.test, Comparison)
        or shape.test.operators != ("==",)
    ):
        return False
    return {
        part.name if isinstance(part, Name) else part.value
        for part in shape.test.operands
        if isinstance(part, (Name, Constant))
    } == {"__name__", "__main__"}


def sets_variables(shape: object) -> bool:
    """Returns whether a statement may set variables that functions of its module see."""
    return any(isinstance(node, _SET_VARIABLES) for node in nodes(shape))


def program_of(facts: FileFacts) -> tuple[str, ...]:
    """Returns the keys of the statements that only run when the file is the program, in order."""
    return tuple([key for key in facts.top if is_program(facts.blocks[key].header)])
