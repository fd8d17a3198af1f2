"""The names that the shape of a block mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    Call,
    Constant,
    Expression,
    FunctionDef,
    Hole,
    Import,
    ImportFrom,
    Lambda,
    Name,
    Parameter,
    Subscript,
    Try,
    With,
    last_name,
)
from meshlens.jaxapi.binders import BINDERS, MAPS_ON_DEVICES
from meshlens.jaxapi.transparent import COMPILES

_ASKS_WHAT_IS_THERE = frozenset({"hasattr", "getattr", "find_spec", "TYPE_CHECKING"})
_VERSION_WORD = re.compile(r"(?i:(?<![a-z])versions?(?![a-z]))|(?<=[a-z])Version")

MAKES_FUNCTIONS = "<function>"
LOCAL_FUNCTION = "="
HOLDS_MESH = "<mesh>"
SERVES_RELEASES = "<guard>"
CALLS_ENTRY = "<entry>"

_FUNCTION_WORDS = frozenset({"fn", "func", "function", "step", "update"})
_NOTED = frozenset({Assign, Try, With, Lambda, FunctionDef})


@lru_cache(maxsize=4_000)
def is_version_word(word: str) -> bool:
    """Returns whether a name typically occurs in checks of JAX's version or features."""
    return word in _ASKS_WHAT_IS_THERE or _VERSION_WORD.search(word) is not None


def is_mark(name: str) -> bool:
    """Returns whether an item is a mark, not a name; marks sort before all names."""
    return name[:1] <= LOCAL_FUNCTION


def _is_local_function(value: Expression) -> bool:
    """Returns whether an assigned expression looks like a function: a lambda or a partial."""
    return isinstance(value, Lambda) or (isinstance(value, Call) and last_name(value.callee) == "partial")


def _is_compiled(value: Expression) -> bool:
    """Returns whether an assigned expression looks like a compiled or mapped function."""
    if not isinstance(value, Call):
        return False
    if last_name(value.callee) in _compilers():
        return True
    return isinstance(value.callee, Attribute) and value.callee.name == "compile" and _is_lowered(value.callee.object)


def _is_made_step(node: Assign) -> bool:
    """Returns whether an attribute is set to a function that a factory made, as in `self.step = make_step(optimizer)`.

    The word at the end of both names tells; most attributes with one in common hold data.
    """
    made = last_name(node.value.callee) if isinstance(node.value, Call) else None
    word = (made or "").rpartition("_")[2]
    names = [target.name for target in node.targets if isinstance(target, Attribute)]
    return word in _FUNCTION_WORDS and word != made and any(name.rpartition("_")[2] == word for name in names)


def _is_lowered(value: Expression) -> bool:
    return isinstance(value, Call) and last_name(value.callee) == "lower"


@cache
def _compilers() -> frozenset[str]:
    """Returns the last parts of the names of functions that compile or map other functions."""
    mapping = [dotted for dotted, row in BINDERS.items() if row.kind in MAPS_ON_DEVICES]
    return frozenset(dotted.rsplit(".", 1)[-1] for dotted in (*COMPILES, *mapping))


def _is_mesh(value: Expression) -> bool:
    return isinstance(value, (Name, Attribute)) and "mesh" in value.name.lower()


def names_of(shape: Any) -> frozenset[str]:
    """Returns the names and attributes that a shape mentions, except in annotations.

    Marks are added for the functions nested in it; for each variable that it sets to a function, and each attribute
    that it sets to a compiled function ("=" and the name); for calling an entry of a table, such as a registry; for
    entering or storing anything called a mesh, which may come from anywhere; and for signs that it supports several JAX
    releases: checking the version or catching exceptions.
    """
    found: set[str] = set()
    waiting: list[Any] = [shape] if isinstance(shape, tuple) else []
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is Name:
            found.add(node.name)
        elif kind is Attribute:
            found.add(node.name)
            waiting.append(node.object)
        elif kind is Call:
            waiting.append(node.callee)
            if type(node.callee) is Subscript:
                found.add(CALLS_ENTRY)
            for label, _, value in node.arguments:
                waiting.append(value)
                if label:
                    found.add(label)
        elif kind is Hole:
            found.update(node.names)
            if "lambda" in node.names:
                found.add(MAKES_FUNCTIONS)
        elif kind is ImportFrom:
            found.update(name.name for name in node.names)
            found.update(part for part in node.module.split(".") if part)
        elif kind is Import:
            found.update(part for name in node.names for part in name.name.split(".") if part)
        elif kind is not Constant:
            parts = (node.default,) if kind is Parameter else (node.target, node.value) if kind is AnnAssign else node
            if kind in _NOTED:
                found.update(_noted(node, shape))
            waiting += [part for part in parts if isinstance(part, tuple)]
    if any(map(is_version_word, found)):
        found.add(SERVES_RELEASES)
    return frozenset(found)


def _noted(node: Any, shape: Any) -> Iterator[str]:
    """Yields the marks for a node itself, without those for its parts."""
    if isinstance(node, Assign):
        if _is_local_function(node.value):
            yield from (LOCAL_FUNCTION + target.name for target in node.targets if isinstance(target, Name))
        if _is_compiled(node.value) or _is_made_step(node):
            yield from (LOCAL_FUNCTION + target.name for target in node.targets if isinstance(target, Attribute))
        if any(isinstance(target, Attribute) and _is_mesh(target) for target in node.targets):
            yield HOLDS_MESH
    elif isinstance(node, Try):
        if node.handlers:
            yield SERVES_RELEASES
    elif isinstance(node, With):
        if any(_is_mesh(item.value) for item in node.items):
            yield HOLDS_MESH
    elif isinstance(node, Lambda) or (isinstance(node, FunctionDef) and node is not shape):
        yield MAKES_FUNCTIONS
