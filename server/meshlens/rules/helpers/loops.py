"""Loops in the source: the loop around a place, whether it has many iterations, and what changes in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from meshlens.axes.domain.values import Seq, Site
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BoolOperation,
    Break,
    Call,
    Comprehension,
    Constant,
    DictDisplay,
    For,
    FunctionDef,
    If,
    IfExpression,
    Lambda,
    ListDisplay,
    Match,
    Name,
    Raise,
    Return,
    SetDisplay,
    Try,
    TupleDisplay,
    While,
)
from meshlens.project.trees import Node, definitions, names_bound, names_used, tree, walk
from meshlens.project.view import FileView

_DISPLAYS = (TupleDisplay, ListDisplay, SetDisplay, DictDisplay, Constant)
_FEW = frozenset({"items", "values", "keys", "product", "permutations", "combinations", "sorted", "dict"})
_THROUGH = frozenset({"enumerate", "zip", "reversed", "tqdm", "trange", "list", "iter"})
_SOMETIMES = (If, Try, IfExpression, BoolOperation, Match)
Loop: TypeAlias = For | While | Comprehension


def enclosing_loop(path: tuple[Node, ...]) -> tuple[Loop, tuple[Node, ...]] | None:
    """Returns the innermost loop around the last node of a path, with the nodes inside it.

    Returns:
        The loop and the nodes from it to the place; None if there is no loop, if the place runs only sometimes, or if
        it belongs to the loop's header.
    """
    for place in range(len(path) - 2, -1, -1):
        node, inner = path[place], path[place + 1]
        if isinstance(node, Lambda) or (isinstance(node, FunctionDef) and inner in node.function.body):
            return None
        if isinstance(node, _SOMETIMES):
            return None
        if isinstance(node, (For, While)):
            return (node, path[place:]) if inner in node.body and not _leaves(node.body) else None
        if isinstance(node, Comprehension):
            element = node.element if node.kind != "dict" else None
            return (node, path[place:]) if inner is element else None
    return None


def _leaves(body: tuple[Node, ...]) -> bool:
    return bool(body) and isinstance(body[-1], (Break, Return, Raise))


def turns_often(view: FileView, loop: Loop, site: Site) -> bool:
    """Returns whether a loop iterates over steps or data rather than over a few literal cases.

    Args:
        view: the file.
        loop: the loop.
        site: a place in its block.
    """
    if isinstance(loop, While):
        return True
    iterable = loop.iterable if isinstance(loop, For) else loop.clauses[0].iterable
    return _is_long(view, iterable, site)


def _is_long(view: FileView, iterable: Node, site: Site) -> bool:
    if isinstance(iterable, (_DISPLAYS, Comprehension)):
        return False
    if isinstance(iterable, Call):
        callee = iterable.callee
        name = callee.name if isinstance(callee, Attribute) else callee.name if isinstance(callee, Name) else ""
        if name in _FEW:
            return False
        arguments = [argument.value for argument in iterable.arguments]
        if name == "range":
            last = arguments[0] if len(arguments) == 1 else None
            return not (
                last is not None and isinstance(last, Constant) and isinstance(last.value, int) and last.value < 2
            )
        if name in _THROUGH and arguments:
            return all(_is_long(view, argument, site) for argument in arguments[:2])
        return True
    if isinstance(iterable, Name):
        return not iterable.name.isupper() and not _is_written_out(view, iterable.name, site)
    return bool(isinstance(iterable, Attribute))


def _is_written_out(view: FileView, name: str, site: Site) -> bool:
    root = tree(view, site.path, site.block)
    for node in walk(root) if root is not None else ():
        if isinstance(node, Assign) and any(
            isinstance(target, Name) and target.name == name for target in node.targets
        ):
            return isinstance(node.value, _DISPLAYS)
    state = view.solution.modules.get(site.path)
    value = state.frame.vars.get(name) if state is not None else None
    return isinstance(value, Seq) and not value.open


def changing_names(view: FileView, site: Site, nodes: tuple[Node, ...], parameters: Iterable[str] = ()) -> set[str]:
    """Returns the names that may differ between iterations; a nested function counts only if it uses such a name.

    Args:
        view: the file.
        site: a place in the block.
        nodes: the loop, or the body of a function that a loop calls.
        parameters: the parameters of that function.
    """
    uses: dict[str, set[str]] = {}
    for node in definitions(nodes):
        function = node if isinstance(node, FunctionDef) else tree(view, site.path, node.key)
        if isinstance(function, FunctionDef):
            uses[function.function.name] = names_used(function)
    changing = (names_bound(nodes) | set(parameters)) - set(uses)
    while True:
        more = {name for name, used in uses.items() if name not in changing and used & changing}
        if not more:
            return changing
        changing |= more
