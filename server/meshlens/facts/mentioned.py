"""Which names the shape of a block mentions."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from meshlens.facts.walking import is_constant, is_hole, is_parameter

_ASKS_WHAT_IS_THERE = frozenset({"hasattr", "getattr", "find_spec", "TYPE_CHECKING"})
_VERSION_WORD = re.compile(r"(?i:(?<![a-z])versions?(?![a-z]))|(?<=[a-z])Version")

MAKES_FUNCTIONS = "<function>"
LOCAL_FUNCTION = "="
HOLDS_MESH = "<mesh>"
SERVES_RELEASES = "<guard>"


@cache
def is_version_word(word: str) -> bool:
    """Whether a name belongs to a question which JAX this is, or what it has."""
    return word in _ASKS_WHAT_IS_THERE or _VERSION_WORD.search(word) is not None


def is_mark(name: str) -> bool:
    """Whether something mentioned comes no later than the marks do, all of which come before the names."""
    return name[:1] <= LOCAL_FUNCTION


def _is_local_function(value: Any) -> bool:
    """Whether an assigned expression is a function by its looks: a lambda or a partial."""
    if value[0] == "lambda":
        return True
    return value[0] == "call" and value[2][0] in ("name", "attr") and value[2][-1] == "partial"


def _is_mesh(value: Any, *tags: str) -> bool:
    return value[0] in tags and "mesh" in value[-1].lower()


def names_of(shape: Any) -> frozenset[str]:
    """The names and attributes that a shape mentions, annotations left out.

    Where it holds functions there is a mark, and behind "=" the local names of functions that it assigns; another mark
    where it enters or keeps something that is called a mesh, which may have been made anywhere, and one where it may
    serve several releases of JAX: it asks for the version, or catches exceptions.
    """
    found: set[str] = set()
    waiting: list[tuple[Any, ...]] = [shape] if type(shape) is tuple else []
    while waiting:
        node: tuple[Any, ...] = waiting.pop()
        if not node:
            continue
        size = len(node)
        tag = node[0]
        if type(tag) is not str:
            waiting.extend([part for part in node if type(part) is tuple])
            continue
        if tag == "const" and is_constant(node):
            continue
        if tag == "hole" and is_hole(node):
            found.update(node[2])
            if "lambda" in node[2]:
                found.add(MAKES_FUNCTIONS)
            continue
        if size == 3 and tag == "name" and type(node[2]) is str:
            found.add(node[2])
        elif size == 4 and tag == "attr" and type(node[1]) is int:
            found.add(node[3])
            waiting.append(node[2])
        elif size == 5 and tag == "from":
            found.update(name[0] for name in node[4])
            found.update(part for part in node[3].split(".") if part)
        elif size == 3 and tag == "import" and type(node[1]) is int:
            found.update(part for name in node[2] for part in name[0].split(".") if part)
        elif size == 4 and tag == "assign" and type(node[1]) is int:
            if _is_local_function(node[3]):
                found.update(LOCAL_FUNCTION + target[2] for target in node[2] if target[0] == "name")
            if any(_is_mesh(target, "attr") for target in node[2]):
                found.add(HOLDS_MESH)
            waiting.extend([part for part in node if type(part) is tuple])
        elif size == 5 and tag == "ann" and type(node[1]) is int and type(node[2]) is tuple:
            waiting.extend([part for part in (node[2], node[4]) if type(part) is tuple])
        elif size == 5 and is_parameter(node):
            waiting.append(node[3] or ())
        else:
            if size == 6 and tag == "try" and node[3]:
                found.add(SERVES_RELEASES)
            if size == 4 and tag == "with" and any(_is_mesh(item[0], "name", "attr") for item in node[2]):
                found.add(HOLDS_MESH)
            if size == 4 and tag == "call":
                found.update(argument[0] for argument in node[3] if argument[0])
            elif (tag == "fn" and size == 3 and node is not shape) or (tag == "lambda" and size == 4):
                found.add(MAKES_FUNCTIONS)
            waiting.extend([part for part in node if type(part) is tuple])
    if any(map(is_version_word, found)):
        found.add(SERVES_RELEASES)
    return frozenset(found)
