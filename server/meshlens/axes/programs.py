"""Programs: what a file does under `if __name__ == "__main__":`, which no import of it does."""

from __future__ import annotations

from typing import Any

from meshlens.facts.model import FileFacts
from meshlens.facts.walking import nodes

PROGRAM = "<program>"
"""The name of the root that runs a file as a program."""


_SET_VARIABLES = frozenset({"assign", "ann", "aug", "for", "with", "walrus", "import", "from", "fn", "class", "try"})


def is_program(shape: Any) -> bool:
    """Whether a top-level statement is run only where its file is the program."""
    if shape[0] != "if" or shape[4] or shape[2][0] != "cmp" or shape[2][2] != ("==",):
        return False
    return {part[2] for part in shape[2][3] if part[0] in ("name", "const")} == {"__name__", "__main__"}


def sets_variables(shape: Any) -> bool:
    """Whether a statement may set variables that functions of its module see."""
    return any(node[0] in _SET_VARIABLES for node in nodes(shape))


def program_of(facts: FileFacts) -> tuple[str, ...]:
    """The keys of the statements that make a file a program, in order."""
    return tuple([key for key in facts.top if is_program(facts.blocks[key].header)])
